"""The safe consumer: takes as many messages as threads are free, acknowledges only its own, stops when told.

Delivery tags start at 1 on every channel. A consumer that is replaced while jobs run (a broker restarted, a network
that blinked, the ack timeout) would acknowledge, under an old number, a message that somebody else is about to do:
lost without a trace. So each delivery remembers its consumer.
"""

from collections import deque
from collections.abc import Callable, MutableMapping
from functools import partial
from threading import Event, Lock
from typing import Any

from dramatiq import Consumer, Message
from pika import spec
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelWrongStateError, ConnectionWrongStateError

from base import logs
from base.clock import monotonic
from base.errors import LonghaulError
from base.settings import Broker as BrokerSettings
from broker import queues
from broker.ack_timeout import AckTimeout
from broker.address import LINK_ERRORS, Address, Disconnected
from broker.delivery import Delivery, read

#: Acknowledgements that wait are sent within milliseconds, or the connection is dead.
_CLOSING_SECONDS = 5

log = logs.get(__name__)


class RabbitDelivery(Delivery):
    """A message with the number RabbitMQ gave it, and the consumer on whose channel that number means something."""

    def __init__(
        self, message: "Message[Any]", tag: int, consumer: "SafeConsumer", *, redelivered: bool, keep_for: float
    ) -> None:
        super().__init__(message, redelivered=redelivered, keep_for=keep_for)
        self.tag = tag
        self.consumer = consumer


class SafeConsumer(Consumer):
    """Takes a lane's messages on a connection of its own, serviced by the thread that iterates.

    Args:
        address: the RabbitMQ.
        settings: how queues are declared.
        lane: the queue.
        threads: how many messages may be in this process's hands at once.
        idle: seconds after which an iteration answers None.
        ack_timeout: how long a message may be kept; learns when RabbitMQ takes one back.
        known: whether a task can be run here.
        draining: whether the process is ending.
        in_hand: the lane's deliveries that threads of this process have not finished, by identity. Shared by all
            consumers of the lane: what an earlier one delivered still occupies its thread.

    Raises:
        LonghaulError: it can't consume; one sentence says why.
    """

    def __init__(
        self,
        address: Address,
        settings: BrokerSettings,
        lane: str,
        *,
        threads: int,
        idle: float,
        ack_timeout: AckTimeout,
        known: Callable[[str], bool],
        draining: Callable[[], bool],
        in_hand: MutableMapping[int, RabbitDelivery],
    ) -> None:
        self._address = address
        self._settings = settings
        self._lane = lane
        self._threads = threads
        self._ack_timeout = ack_timeout
        self._idle = idle
        self._known = known
        self._draining = draining
        self._in_hand = in_hand
        self._arrived: deque[tuple[spec.Basic.Deliver, bytes]] = deque()
        self._unacked: dict[int, RabbitDelivery] = {}
        self._finished: deque[int] = deque()
        self._finishing = Lock()
        self._consumer_tag: str | None = None
        self._granted = 0
        self._withdrawn = False
        self._connection = address.connect()
        try:
            self._channel: BlockingChannel = self._connection.channel()
            self._channel.add_on_cancel_callback(self._on_canceled_by_broker)
            queues.declare(self._channel, lane, settings)
        except LINK_ERRORS as error:
            self.close()
            raise queues.refusal(error, address, settings) from None

    def __next__(self) -> RabbitDelivery | None:
        try:
            self._adjust()
            if not self._arrived:
                self._connection.process_data_events(time_limit=self._idle)
            self._complain_if_closed()
            return self._readable()
        except queues.MessagesTakenBack as error:
            self._ack_timeout.learn(error.after, str(error))
            raise Disconnected(error) from None
        except (AssertionError, *LINK_ERRORS) as error:
            raise Disconnected(queues.refusal(error, self._address, self._settings)) from None
        except LonghaulError as error:
            raise Disconnected(error) from None

    def ack(self, message: RabbitDelivery) -> None:  # type: ignore[override]
        """Called by the thread that finished with it, on whichever consumer the lane has by then."""
        self._in_hand.pop(id(message), None)
        if message.kept:
            self._soon(partial(self._return, message))
        elif self.delivered(message):
            self._unacked.pop(message.tag, None)
            # One call to the connection's thread acknowledges all that come until it is made.
            with self._finishing:
                first = not self._finished
                self._finished.append(message.tag)
            if first:
                self._soon(self._ack_finished)
        else:
            log.info("message of an earlier channel finished; RabbitMQ has taken it back already", lane=self._lane)

    def nack(self, message: RabbitDelivery) -> None:  # type: ignore[override]
        """Nothing of ours fails a message; one that is failed all the same goes to the dead letters."""
        self._in_hand.pop(id(message), None)
        if self.delivered(message):
            self._unacked.pop(message.tag, None)
            self._soon(partial(self._tell, self._channel, "basic_nack", message.tag, requeue=False))

    def delivered(self, message: RabbitDelivery) -> bool:
        """Whether this consumer delivered it; a number of another channel names another message here."""
        return message.consumer is self

    def stop_taking(self) -> None:
        """Take no new message, and give back what no thread has begun.

        Given back by closing the channel, all at once. The jobs that run lose their message too, which is harmless:
        redelivered, it is one more wake-up. On a quorum queue of RabbitMQ 4.0 it counts as a delivery, as rejecting
        does; a message given up after 20 of them is replaced by the relay.
        """
        self._cancel()
        unbegun = any(message.kept or not message.started for message in list(self._unacked.values()))
        if self._channel.is_open and (unbegun or self._arrived):
            self._arrived.clear()
            self._unacked.clear()
            self._channel.close()

    def close(self) -> None:
        """Send the acknowledgements that wait, and close the connection. Never raises."""
        sent = Event()
        deadline = monotonic() + _CLOSING_SECONDS
        try:
            self._connection.add_callback_threadsafe(sent.set)
            while not sent.is_set() and monotonic() < deadline:
                self._connection.process_data_events(time_limit=0.1)
            self._connection.close()
        except (AssertionError, *LINK_ERRORS) as error:
            log.debug("connection was closed already", lane=self._lane, error=str(error))

    def _adjust(self) -> None:
        """Take as many messages as threads are free: one in memory behind a long job is a hostage."""
        if self._draining():
            self.stop_taking()
            return
        adrift = sum(not self.delivered(message) for message in list(self._in_hand.values()))
        free = max(0, self._threads - adrift)
        if free != self._granted:
            self._cancel()
            self._granted = free
            if free:
                self._channel.basic_qos(prefetch_count=free)
                self._consumer_tag = self._channel.basic_consume(self._lane, self._on_message)

    def _cancel(self) -> None:
        if self._consumer_tag is not None and self._channel.is_open:
            self._channel.basic_cancel(self._consumer_tag)
        self._consumer_tag = None

    def _readable(self) -> RabbitDelivery | None:
        """The next arrival that a thread can take up; what nobody here can read is settled at once."""
        while self._arrived:
            method, body = self._arrived.popleft()
            message = read(body, self._lane)
            if message is None:
                log.error("message that can't be read: moved to the dead letters", lane=self._lane, bytes=len(body))
                self._channel.basic_nack(method.delivery_tag, requeue=False)
            elif not self._known(message.actor_name):
                # Of a newer version. Acknowledged: the relay sends another, until a worker that knows the task has it.
                log.info("wake-up for a task this version does not know", lane=self._lane, task=message.actor_name[:80])
                self._channel.basic_ack(method.delivery_tag)
            else:
                delivery = RabbitDelivery(
                    message,
                    method.delivery_tag,
                    self,
                    redelivered=method.redelivered,
                    keep_for=self._ack_timeout.keep_for.total_seconds(),
                )
                self._unacked[delivery.tag] = self._in_hand[id(delivery)] = delivery
                return delivery
        return None

    def _return(self, message: RabbitDelivery) -> None:
        """Give back a message that was kept through an outage. While draining, `stop_taking` does it."""
        if self.delivered(message) and not self._draining():
            self._unacked.pop(message.tag, None)
            self._tell(self._channel, "basic_nack", message.tag, requeue=True)

    def _ack_finished(self) -> None:
        while self._finished:
            self._tell(self._channel, "basic_ack", self._finished.popleft())

    def _soon(self, call: Callable[[], None]) -> None:
        """Have the thread that services the connection make this call."""
        try:
            self._connection.add_callback_threadsafe(call)
        except ConnectionWrongStateError:
            log.info("connection was lost before a message was acknowledged; it is delivered anew", lane=self._lane)

    @staticmethod
    def _tell(channel: BlockingChannel, method: str, tag: int, **how: bool) -> None:
        if channel.is_open:
            getattr(channel, method)(tag, **how)

    def _on_message(self, _channel: object, method: spec.Basic.Deliver, _properties: object, body: bytes) -> None:
        self._arrived.append((method, body))

    def _on_canceled_by_broker(self, _frame: object) -> None:
        self._withdrawn = True

    def _complain_if_closed(self) -> None:
        if self._draining():
            return
        if self._channel.is_closed:
            # pika tells the reason only to whoever waits for an answer on that channel.
            reason = getattr(self._channel, "_closing_reason", None)
            raise queues.refusal(
                reason or ChannelWrongStateError("the channel was closed"), self._address, self._settings
            )
        if self._withdrawn:
            raise Disconnected(f"RabbitMQ ended the consumer of queue {self._lane}: was the queue deleted?")
