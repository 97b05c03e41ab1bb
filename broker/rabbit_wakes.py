"""Wake-ups over RabbitMQ: a lane's ready depth, and publishing in bulk on a connection of one thread's own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pydantic import SecretStr

from base.settings import Broker as BrokerSettings
from broker import queues
from broker.address import LINK_ERRORS, Address, address
from broker.delivery import wake_up

#: A wake-up need not survive a restart of RabbitMQ: the relay sends it anew.
_WAKE_UP = pika.BasicProperties(delivery_mode=pika.DeliveryMode.Transient)


def wakes(url: SecretStr, settings: BrokerSettings, purpose: str) -> "RabbitWakes":
    """A publisher for one thread of a process that consumes nothing.

    Raises:
        Misconfigured: `url` is no AMQP URL.
    """
    return RabbitWakes(address(url, settings, purpose), settings)


class RabbitWakes:
    """`Wakes` over RabbitMQ. Connects at the first call, and again after a failure."""

    def __init__(self, address: Address, settings: BrokerSettings) -> None:
        self._address = address
        self._settings = settings
        self._connection: pika.BlockingConnection | None = None
        self._channel: BlockingChannel | None = None
        self._declared: set[str] = set()

    def ready(self, lane: str) -> int:
        """Wake-ups in the lane's queue that no worker has taken; makes the queue if it is missing.

        Raises:
            LonghaulError: RabbitMQ could not be asked.
        """
        with self._open() as channel:
            self._declared.add(lane)
            return queues.declare(channel, lane, self._settings)

    def send(self, lane: str, tasks: Mapping[str, int]) -> None:
        """Publish in one AMQP transaction: waiting for each confirm allows a few hundred a second.

        Raises:
            LonghaulError: RabbitMQ did not take them.
        """
        if lane not in self._declared:
            self.ready(lane)
        with self._open() as channel:
            for task, count in tasks.items():
                body = wake_up(lane, task).encode()
                for _ in range(count):
                    channel.basic_publish("", lane, body, _WAKE_UP)
            channel.tx_commit()

    def close(self) -> None:
        """Let go of the connection. Never raises."""
        connection, self._connection, self._channel = self._connection, None, None
        self._declared.clear()
        if connection is not None:
            with suppress(*LINK_ERRORS):
                connection.close()

    @contextmanager
    def _open(self) -> Iterator[BlockingChannel]:
        try:
            if self._channel is None:
                self._connection = self._address.connect()
                self._channel = self._connection.channel()
                self._channel.tx_select()
            yield self._channel
        except LINK_ERRORS as error:
            self.close()
            raise queues.refusal(error, self._address, self._settings) from None
