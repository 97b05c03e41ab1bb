"""Signals over RabbitMQ: one fanout exchange, and an exclusive queue of each process that is gone with it."""

import threading
from collections import deque

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ConnectionWrongStateError

from base import logs
from base.errors import LonghaulError
from broker import signals
from broker.address import LINK_ERRORS, Address
from broker.waits import waits

EXCHANGE = "longhaul.signals"

#: How long a signal may be under way before nobody wants it, in milliseconds.
_STALE = "10000"

#: How often the connection looks up when nothing comes.
_LOOK_SECONDS = 1.0

log = logs.get(__name__)


class RabbitCarrier:
    """Sends and hears signals in one thread, over a connection of its own that comes back when it was lost."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._waiting: deque[bytes] = deque(maxlen=signals.WAITING)
        self._ended = threading.Event()
        self._waits = waits()
        self._connection: pika.BlockingConnection | None = None
        self._thread = threading.Thread(target=self._run, name="signals", daemon=True)
        self._thread.start()

    def send(self, body: bytes) -> None:
        """Have it sent soon."""
        self._waiting.append(body)
        self._look_up()

    def is_alive(self) -> bool:
        """Whether the thread that carries them is there."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Send what waits, and end."""
        self._ended.set()
        self._look_up()
        self._thread.join(2 * _LOOK_SECONDS)

    def _run(self) -> None:
        while True:
            try:
                self._carry()
            except LonghaulError as error:
                log.info("signals do not travel", error=str(error))
            except LINK_ERRORS as error:
                log.info("signals do not travel", error=str(self._address.away(error)))
            if self._ended.wait(next(self._waits)):
                return

    def _carry(self) -> None:
        """Send and hear until the end, or until the connection is lost."""
        connection = self._address.connect()
        self._waits = waits()
        try:
            channel = connection.channel()
            self._listen(channel)
            self._connection = connection
            while not self._ended.is_set():
                self._send_waiting(channel)
                connection.process_data_events(time_limit=_LOOK_SECONDS)
            self._send_waiting(channel)
        finally:
            self._connection = None
            if connection.is_open:
                connection.close()

    def _send_waiting(self, channel: BlockingChannel) -> None:
        properties = pika.BasicProperties(expiration=_STALE)
        while self._waiting:
            channel.basic_publish(EXCHANGE, "", self._waiting.popleft(), properties)

    @staticmethod
    def _listen(channel: BlockingChannel) -> None:
        channel.exchange_declare(EXCHANGE, "fanout", durable=True)
        queue = channel.queue_declare("", exclusive=True, auto_delete=True, arguments={"x-max-length": signals.WAITING})
        channel.queue_bind(queue.method.queue, EXCHANGE)
        channel.basic_consume(queue.method.queue, lambda _c, _m, _p, body: signals.heard(body), auto_ack=True)

    def _look_up(self) -> None:
        """Wake the thread that services the connection."""
        connection = self._connection
        if connection is not None:
            try:
                connection.add_callback_threadsafe(lambda: None)
            except ConnectionWrongStateError:
                log.debug("the connection of the signals was just lost")
