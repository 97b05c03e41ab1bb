"""The claims this process holds: what the beat compares, what the drain empties, what a stop reaches."""

import contextvars
import math
import threading
from collections.abc import Callable
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from base.clock import monotonic
from base.errors import HandOver, Stop
from broker.delivery import Delivery
from broker.loop import Run
from ledger.claiming import Claim


class Held:
    """One claim, from the moment it is made until its end is written.

    Attributes:
        claim: what the ledger gave.
        delivery: the message that led to it; None outside a worker.
        hand_over_at: monotonic seconds; from then on the run is asked to hand over, before RabbitMQ takes the message.
        draining: set, no further pass starts: the process is ending.
        progressed: a checkpoint was stored since the claim, so that handing over gets on.
        parting: writes what the step left to be written before its claim ends, however it ends; None once it is.
        following: what this thread holds next: it was claimed with the end of this one.
        outcome: how it ended, for the log.
        started_at: monotonic seconds.
    """

    def __init__(
        self,
        claim: Claim,
        *,
        delivery: Delivery | None = None,
        hand_over_at: float = math.inf,
        draining: threading.Event | None = None,
    ) -> None:
        self.claim = claim
        self.delivery = delivery
        self.hand_over_at = hand_over_at
        self.draining = draining or threading.Event()
        self.progressed = False
        self.parting: Callable[[Connection], None] | None = None
        self.following: Held | None = None
        self.outcome = "unsettled"
        self.started_at = monotonic()
        self._reason: Stop | None = None
        self._run: Run[Any] | None = None
        self._stopped_at = math.inf
        self._over = False
        self._lock = threading.Lock()

    @property
    def reason(self) -> Stop | None:
        """Why it was stopped; None while nobody stopped it."""
        return self._reason

    def stop(self, reason: Stop) -> None:
        """Stop it where it is. The reason is recorded before the coroutine is cancelled; the first one stays."""
        with self._lock:
            if self._over:
                return
            self._reason = self._reason or reason
            self._stopped_at = min(self._stopped_at, monotonic())
            run = self._run
        if run is not None:
            run.cancel()

    def resists_for(self) -> float:
        """Seconds for which it has gone on after it was stopped."""
        return 0.0 if self._run is None else max(0.0, monotonic() - self._stopped_at)

    def attach(self, run: "Run[Any]") -> None:
        """The coroutine that works for it has started."""
        with self._lock:
            self._run = run
            stopped = self._reason is not None
        if stopped:
            run.cancel()

    def over(self) -> None:
        """The coroutine has ended: there is nothing left to stop, the end is being written."""
        with self._lock:
            self._over, self._run = True, None

    def check(self) -> None:
        """Raises:
        Stop: no further pass may start.
        """
        if self._reason is not None:
            raise self._reason
        if self.draining.is_set() or monotonic() >= self.hand_over_at:
            raise HandOver("The run was asked to hand over.")


class Registry:
    """All claims this process holds. Safe to use from every thread."""

    def __init__(self) -> None:
        self._held: dict[tuple[UUID, int], Held] = {}
        self._changed = threading.Condition()
        self._suspect = threading.Lock()

    def __contains__(self, job: tuple[UUID, int]) -> bool:
        return job in self._held

    def add(self, held: Held) -> None:
        """Hold it."""
        with self._changed:
            self._held[_key(held)] = held

    def discard(self, held: Held) -> None:
        """Hold it no longer."""
        with self._changed:
            self._held.pop(_key(held), None)
            self._changed.notify_all()

    def find(self, job_id: UUID, fence: int) -> Held | None:
        """The claim of that job under that fence, if this process holds it."""
        return self._held.get((job_id, fence))

    def all(self) -> list[Held]:
        """What is held at this moment."""
        with self._changed:
            return list(self._held.values())

    def wait_until_empty(self, seconds: float) -> bool:
        """Whether nothing is held within this time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._held, seconds)

    def may_take_suspect(self) -> bool:
        """Whether a job that lost a worker before may be claimed: a process holds one at a time, lest it kill others.

        True reserves the place; `release_suspect` gives it back.
        """
        return self._suspect.acquire(blocking=False)

    def release_suspect(self) -> None:
        """Another suspect may be claimed."""
        self._suspect.release()


#: The claim that the message in this thread led to.
_in_hand: contextvars.ContextVar[Held | None] = contextvars.ContextVar("_in_hand", default=None)


def in_hand() -> Held | None:
    """The claim that this thread's message led to."""
    return _in_hand.get()


def put_in_hand(held: Held | None) -> None:
    """Note what this thread's message led to."""
    _in_hand.set(held)


def _key(held: Held) -> tuple[UUID, int]:
    return held.claim.job_id, held.claim.fence
