"""A message: what it may carry on the wire, and what becomes of it in a worker's hand."""

import math
from typing import Any

from dramatiq import Message, MessageProxy
from dramatiq.errors import DecodeError

from base.clock import monotonic

#: The one option a message of ours carries: periodiq's stamp on the tick.
_STAMP = "scheduled_at"


def wake_up(lane: str, task: str) -> "Message[Any]":
    """A message that says: there is something to do in this lane. It says no more (I10)."""
    return Message(queue_name=lane, actor_name=task, args=(), kwargs={}, options={})


def read(body: bytes, lane: str) -> "Message[Any] | None":
    """What arrived in a lane, reduced to what we send ourselves; None when it can't be read.

    Dramatiq files a message by the queue it claims to be of, and holds one back that names a time. Neither is taken
    from the wire: one broken message would end a thread, or wait for ever.
    """
    try:
        sent: Message[Any] = Message.decode(body)
    except DecodeError:
        return None
    task: Any = sent.actor_name
    options: Any = sent.options
    if not isinstance(task, str):
        return None
    stamp = options.get(_STAMP) if isinstance(options, dict) else None
    return Message(
        queue_name=lane,
        actor_name=task,
        args=(),
        kwargs={},
        options={_STAMP: stamp} if isinstance(stamp, str) else {},
        message_id=str(sent.message_id),
    )


class Delivery(MessageProxy):
    """One message in a worker's hand.

    Attributes:
        arrived_at: monotonic seconds.
        redelivered: it was delivered before, and whoever had it did not finish.
        give_back_at: monotonic seconds; from then on the broker is about to take it back by itself.
        started: a thread took it up. Until then nothing is lost by giving it back.
        kept: it is to go back to the broker, not to be acknowledged.
    """

    def __init__(self, message: "Message[Any]", *, redelivered: bool = False, keep_for: float = math.inf) -> None:
        super().__init__(message)
        self.redelivered = redelivered
        self.arrived_at = monotonic()
        self.give_back_at = self.arrived_at + keep_for
        self.started = False
        self.kept = False

    def keep(self) -> None:
        """Give it back to the broker: what it announced could not be asked about here."""
        self.kept = True
