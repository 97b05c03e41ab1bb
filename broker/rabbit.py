"""The RabbitMQ broker: Dramatiq's protocol over safe consumers.

Nothing here retries a job, delays one or counts an attempt: that is the ledger's.
"""

import threading
from collections.abc import Callable, Collection
from typing import Any

import pika
from dramatiq import Broker, Message, Middleware
from dramatiq.worker import ConsumerThread
from pydantic import SecretStr

from base.errors import LonghaulError
from base.settings import Broker as BrokerSettings
from broker import queues
from broker.ack_timeout import AckTimeout
from broker.address import Disconnected, address
from broker.consumer import RabbitDelivery, SafeConsumer
from broker.rabbit_signals import RabbitCarrier
from broker.rabbit_wakes import RabbitWakes
from schema.engine import Database


class RabbitBroker(Broker):
    """Dramatiq's broker for RabbitMQ. Connects when something is consumed or published, never when it is made.

    Attributes:
        draining: set, consumers take no new message.
        on_refusal: called in a consumer's thread with the sentence, when RabbitMQ refuses a queue for good.

    Raises:
        Misconfigured: `url` is no AMQP URL.
    """

    def __init__(
        self,
        url: SecretStr,
        settings: BrokerSettings,
        *,
        middleware: list[Middleware],
        purpose: str,
        draining: threading.Event | None = None,
        ack_timeout: AckTimeout | None = None,
    ) -> None:
        super().__init__(middleware=middleware)
        self.queues: set[str] = set()
        self.draining = draining or threading.Event()
        self.on_refusal: Callable[[str], None] = lambda _sentence: None
        self._settings = settings
        self._ack_timeout = ack_timeout or AckTimeout(settings)
        self._address = address(url, settings, purpose)
        self._in_hand: dict[str, dict[int, RabbitDelivery]] = {}

    def get_declared_queues(self) -> set[str]:
        """The lanes, which are the names of their queues."""
        return set(self.queues)

    def declare_queue(self, queue_name: str) -> None:
        """Note a lane; its queues are made when it is consumed or published to. There are no delay queues."""
        if queue_name not in self.queues:
            self.emit_before("declare_queue", queue_name)
            self.queues.add(queue_name)
            self.emit_after("declare_queue", queue_name)

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 1000) -> SafeConsumer:
        """A consumer of a lane. `prefetch` is the number of its threads, `timeout` is in milliseconds.

        Raises:
            Disconnected: it can't consume; the text is a sentence.
        """
        try:
            return SafeConsumer(
                self._address,
                self._settings,
                queue_name,
                threads=prefetch,
                idle=timeout / 1000,
                ack_timeout=self._ack_timeout,
                known=self.actors.__contains__,
                draining=self.draining.is_set,
                in_hand=self._in_hand.setdefault(queue_name, {}),
            )
        except queues.QueuesDiffer as error:
            # Dramatiq would try again every three seconds, for ever.
            thread = threading.current_thread()
            if isinstance(thread, ConsumerThread):
                thread.stop()
            self.on_refusal(str(error))
            raise Disconnected(error) from None
        except LonghaulError as error:
            raise Disconnected(error) from None

    def enqueue(self, message: "Message[Any]", *, delay: int | None = None) -> "Message[Any]":
        """Publish one message and wait until RabbitMQ has it: periodiq's tick.

        Raises:
            Disconnected: it was not taken; the text is a sentence.
            ValueError: `delay` was given; a job that is due later is a row of the ledger.
        """
        if delay is not None:
            raise ValueError("messages are not delayed: insert a job with a due time instead")
        self.emit_before("enqueue", message, delay)
        try:
            with queues.errand(self._address, self._settings) as channel:
                queues.declare(channel, message.queue_name, self._settings)
                channel.confirm_delivery()
                properties = pika.BasicProperties(delivery_mode=pika.DeliveryMode.Persistent)
                channel.basic_publish("", message.queue_name, message.encode(), properties, mandatory=True)
        except LonghaulError as error:
            raise Disconnected(error) from None
        self.emit_after("enqueue", message, delay)
        return message

    def check(self, lanes: Collection[str]) -> None:
        """Connect once, and make the lanes' queues where they are missing.

        Raises:
            LonghaulError: RabbitMQ can't be used as the settings say.
        """
        with queues.errand(self._address, self._settings) as channel:
            for lane in sorted(lanes):
                queues.declare(channel, lane, self._settings)

    def wakes(self) -> RabbitWakes:
        """A publisher of wake-ups, for one thread."""
        return RabbitWakes(self._address, self._settings)

    def carrier(self, _database: Database) -> RabbitCarrier:
        """What takes this process's signals to all others, and theirs to it."""
        return RabbitCarrier(self._address)
