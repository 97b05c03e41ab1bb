"""What a step declares about its jobs: where they wait, how often they are tried, when they count as abandoned."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Literal

from pydantic import BaseModel
from sqlalchemy import Connection

from base.errors import Misconfigured
from schema.ledger.endings import Ended

__all__ = ["GATE_MARK", "Ended", "Policy", "Reaction", "declare", "declared", "policy"]

#: Parts a task from its gate in a bucket's name, so no task may hold it.
GATE_MARK = "@"


#: Runs in the transaction that ends the job, inside its account's scope. What it raises undoes that end.
Reaction = Callable[[Connection, Ended], None]


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How the jobs of one task are treated.

    Two kinds. With `max_attempts` (1 when neither is given) an attempt is counted at each claim, and a job that lost
    its worker has used one. With `max_recoveries` a failure is final, and only the loss of a worker is tried again.
    """

    task: str
    lane: str
    payload: type[BaseModel]
    #: Small number first.
    priority: int = 100
    #: Named limit on jobs that run at once over the cluster, and its size where it was never set.
    gate: str | None = None
    gate_slots: int = 1
    max_attempts: int | None = None
    max_recoveries: int | None = None
    #: Waits between attempts; the last one repeats.
    ladder: tuple[timedelta, ...] = ()
    #: Silence of the worker after which a run counts as abandoned.
    stale_after: timedelta
    #: Time without progress after which it does; above the slowest pass with its retries.
    stall_after: timedelta
    #: Longest run. None: it checkpoints, and hands over before the broker takes its message back.
    time_limit: timedelta | None = None
    #: What asking again answers while a job with the same key is open.
    already_open: Literal["return", "refuse"] = "return"
    on_end: Reaction | None = None

    def __post_init__(self) -> None:
        if GATE_MARK in self.task or not self.task:
            raise Misconfigured(
                f"A task can't be named {self.task!r}: the name must not be empty or hold {GATE_MARK!r}."
            )
        if self.max_attempts is not None and self.max_recoveries is not None:
            raise Misconfigured(f"The task {self.task} is bounded by attempts or by recoveries, not by both.")
        if self.max_attempts == 0 or min(self.max_attempts or 0, self.max_recoveries or 0) < 0 or self.gate_slots < 1:
            raise Misconfigured(f"The task {self.task} declares a limit below the least that makes sense.")

    @property
    def attempt_limit(self) -> int | None:
        """Attempts a job has; None when it is bounded by recoveries."""
        return None if self.max_recoveries is not None else self.max_attempts or 1

    def wait_after(self, attempt: int) -> timedelta:
        """How long to wait after that attempt, counted from 1, failed."""
        return self.ladder[min(attempt, len(self.ladder)) - 1] if self.ladder else timedelta(0)


_declared: dict[str, Policy] = {}


def declare(policy: Policy) -> None:
    """Make a task known to this process. Declaring the same again is fine.

    Raises:
        Misconfigured: the task is declared already, otherwise.
    """
    if _declared.setdefault(policy.task, policy) != policy:
        raise Misconfigured(f"The task {policy.task} is declared twice, with different policies.")


def policy(task: str) -> Policy:
    """The policy of a task.

    Raises:
        Misconfigured: this process does not know the task.
    """
    found = _declared.get(task)
    if found is None:
        raise Misconfigured(f"This version knows no task {task}. Do it with the version that its workers run.")
    return found


def declared() -> Mapping[str, Policy]:
    """All tasks this process knows, by name."""
    return MappingProxyType(_declared)
