"""The claim: a wake-up becomes the best runnable job of its lane, or nothing.

Dramatiq logs an ordinary exception of a hook and runs the actor all the same. So whatever happens in here, either a
claim is made or the message is skipped (I1).
"""

from collections.abc import Callable

from dramatiq import Broker, MessageProxy, Middleware
from dramatiq.middleware import SkipMessage

from base import logs
from base.clock import monotonic
from broker.delivery import Delivery
from broker.held import Held, in_hand, put_in_hand
from broker.life import StepActor
from broker.process import WorkerProcess
from broker.step import steps
from broker.waits import waits
from ledger import claiming, reaping
from schema.engine import DatabaseAway

log = logs.get(__name__)


class ClaimJob(Middleware):
    """Claims before a step's message is processed, and lets go afterwards."""

    def __init__(self, process: WorkerProcess) -> None:
        self._process = process

    def before_process_message(self, broker: Broker, message: MessageProxy) -> None:
        """Raises:
        SkipMessage: there is nothing to do, or it can't be found out.
        """
        if in_hand() is None and isinstance(message, Delivery) and is_step(broker, message):
            put_in_hand(fail_closed(lambda: self._claim(message)))

    def after_process_message(self, broker: Broker, message: MessageProxy, **_: object) -> None:
        """Let go of what this thread held; its hand is empty, or has what was claimed with that one's end."""
        held = in_hand()
        put_in_hand(None if held is None else held.following)
        if held is not None:
            self._process.held.discard(held)
            if held.claim.recoveries:
                self._process.held.release_suspect()

    #: A claim that something skipped after it was made is an orphan, which the beat hands back.
    after_skip_message = after_process_message

    def _claim(self, delivery: Delivery) -> Held:
        if delivery.redelivered:
            self._recover()
        for wait in waits():
            try:
                held = self._take(delivery)
            except DatabaseAway as error:
                log.warning("a wake-up waits for the database", lane=delivery.queue_name, error=str(error))
            else:
                if held is None:
                    raise SkipMessage("Nothing is runnable.")
                return held
            left = max(0.0, delivery.give_back_at - monotonic())
            if self._process.draining.wait(min(wait, left)) or monotonic() >= delivery.give_back_at:
                # What could not be asked about is never acknowledged.
                delivery.keep()
                raise SkipMessage("The database could not be asked.")
        raise AssertionError("waits never end")

    def _take(self, delivery: Delivery) -> Held | None:
        process = self._process
        return process.take(
            lambda suspects: claiming.claim(
                process.database,
                process.worker_id,
                delivery.queue_name,
                # All that this process knows: a job may be inserted into another lane than its step's own.
                list(steps()),
                suspects=suspects,
            ),
            delivery,
        )

    def _recover(self) -> None:
        """Somebody had this message and did not finish: look for processes of this machine that are gone (E27)."""
        try:
            for taken in reaping.reap_gone(self._process.database):
                log.warning("a job of a dead worker was taken back", job=str(taken.job_id), outcome=taken.outcome)
        except DatabaseAway as error:
            log.warning("dead workers were not looked for", error=str(error))


def is_step(broker: Broker, message: MessageProxy) -> bool:
    """Whether the message wakes a lane of steps; the tick is an actor of its own."""
    return isinstance(broker.actors.get(message.actor_name), StepActor)


def fail_closed(take: Callable[[], Held]) -> Held:
    """Make the claim, or have the message skipped: an ordinary exception would let the body run without one (I1).

    Raises:
        SkipMessage: there is no claim.
    """
    try:
        return take()
    except SkipMessage:
        raise
    except Exception as error:
        log.exception("a claim failed; its wake-up is spent, the relay sends another")
        raise SkipMessage("The claim failed.") from error
