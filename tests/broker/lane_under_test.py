"""The tests' lane as RabbitMQ has it, seen and changed from outside."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pydantic import SecretStr

from base.settings import Broker as BrokerSettings
from broker.queues import dead_letters
from broker.rabbit_wakes import wakes
from tests.broker.steps_under_test import LANE
from tests.broker.until import until


class Lane:
    """A queue in a vhost of the test's own."""

    def __init__(self, url: str, queue_type: Literal["classic", "quorum"] = "classic") -> None:
        self.url = url
        self._settings = BrokerSettings(queue_type=queue_type)

    def ready(self, queue: str = LANE) -> int:
        with self._channel() as channel:
            return int(channel.queue_declare(queue, passive=True).method.message_count)

    def purge(self) -> None:
        with self._channel() as channel:
            channel.queue_purge(LANE)

    def delete(self) -> None:
        with self._channel() as channel:
            for queue in (LANE, dead_letters(LANE)):
                channel.queue_delete(queue)

    def replace_by_another_kind(self) -> None:
        """Delete the queue under its consumers, and make one of that name with other arguments."""
        until(self._is_replaced)

    def _is_replaced(self) -> bool:
        """Whether a worker that lives did not make it anew in between."""
        try:
            with self._channel() as channel:
                channel.queue_delete(LANE)
                channel.queue_declare(LANE, durable=True, arguments={"x-max-length": 10})
        except pika.exceptions.ChannelClosedByBroker:
            return False
        return True

    def send(self, task: str, count: int = 1) -> None:
        publisher = wakes(SecretStr(self.url), self._settings, "test")
        publisher.send(LANE, {task: count})
        publisher.close()

    @contextmanager
    def _channel(self) -> Iterator[BlockingChannel]:
        connection = pika.BlockingConnection(pika.URLParameters(self.url))
        try:
            yield connection.channel()
        finally:
            connection.close()
