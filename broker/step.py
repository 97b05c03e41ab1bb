"""`@step` declares one: a coroutine, its task's frozen name, its payload, its policy. Declaring starts nothing.

@step("enrichment.run", lane="enrichment", payload=RunPayload, stale_after=..., stall_after=...)
async def run(work: Work, request: RunPayload) -> Done: ...
"""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

from base.errors import Misconfigured
from broker.work import Done, Work
from ledger.policy import Policy, Reaction, declare

__all__ = ["Done", "Step", "Work", "step", "steps"]

P = TypeVar("P", bound=BaseModel)
Body = Callable[[Work, P], Coroutine[Any, Any, Done]]


@dataclass(frozen=True)
class Step:
    """A coroutine and how its jobs are treated."""

    policy: Policy
    body: Body[Any]


_steps: dict[str, Step] = {}


def steps() -> Mapping[str, Step]:
    """Every step this process knows, by its task."""
    return MappingProxyType(_steps)


def step(
    task: str,
    *,
    lane: str,
    payload: type[P],
    stale_after: timedelta,
    stall_after: timedelta,
    priority: int = 100,
    gate: str | None = None,
    gate_slots: int = 1,
    max_attempts: int | None = None,
    max_recoveries: int | None = None,
    ladder: tuple[timedelta, ...] = (),
    time_limit: timedelta | None = None,
    already_open: Literal["return", "refuse"] = "return",
    on_end: Reaction | None = None,
) -> Callable[[Body[P]], Body[P]]:
    """Declare a coroutine as the step of a task; the coroutine stays what it is. The rest is `ledger.policy.Policy`.

    Raises:
        Misconfigured: another coroutine is declared for that task.
    """
    policy = Policy(
        task=task,
        lane=lane,
        payload=payload,
        priority=priority,
        gate=gate,
        gate_slots=gate_slots,
        max_attempts=max_attempts,
        max_recoveries=max_recoveries,
        ladder=ladder,
        stale_after=stale_after,
        stall_after=stall_after,
        time_limit=time_limit,
        already_open=already_open,
        on_end=on_end,
    )

    def remember(body: Body[P]) -> Body[P]:
        if task in _steps:
            raise Misconfigured(f"The task {task} has a step already: a task is done by one coroutine.")
        declare(policy)
        _steps[task] = Step(policy, body)
        return body

    return remember
