"""Claiming: one job for one worker, counted as an attempt, with its gate's slot (I1, I3)."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from schema.engine import Database
from schema.ledger import claims

#: Looks at the lane in which others were faster each time, before the claimer gives up; its wake-up is spent then,
#: and the relay sends another.
_LOOKS = 8


@dataclass(frozen=True)
class Claim:
    """A job this process holds; every write for it names its fence (I2).

    `payload` is None when the stored request is gone: the job can only be failed (E33).
    """

    job_id: UUID
    account_id: UUID
    task: str
    lane: str
    key: str | None
    fence: int
    attempts: int
    max_attempts: int | None
    recoveries: int
    max_recoveries: int | None
    worker_id: UUID
    created_at: datetime
    claimed_at: datetime
    payload: dict[str, Any] | None


def claim(
    database: Database, worker_id: UUID, lane: str, tasks: Collection[str], *, suspects: bool = True
) -> Claim | None:
    """Claim the best runnable job of a lane among the tasks given; None when there is none.

    Best is: smallest priority, then turn, then oldest. `suspects` False passes over jobs that lost a worker before:
    a process should hold one such job at a time.

    Raises:
        DatabaseAway: it can't be asked now; nothing was claimed, or the claim is an orphan for the beat to find.
    """
    shut: set[str] = set()
    for _ in range(_LOOKS):
        taken = claims.take(database, worker_id=worker_id, lane=lane, tasks=tasks, suspects=suspects, shut=shut)
        if taken is None:
            return None
        if isinstance(taken, claims.Taken):
            return _held(taken, worker_id)
        if taken.gate is not None:
            # Its last slot went to another claim at this moment: look past it, other buckets may be open.
            shut.add(taken.gate)
    return None


def _held(taken: claims.Taken, worker_id: UUID) -> Claim:
    return Claim(
        job_id=taken.job_id,
        account_id=taken.account_id,
        task=taken.task,
        lane=taken.lane,
        key=taken.key,
        fence=taken.fence,
        attempts=taken.attempts,
        max_attempts=taken.max_attempts,
        recoveries=taken.recoveries,
        max_recoveries=taken.max_recoveries,
        worker_id=worker_id,
        created_at=taken.created_at,
        claimed_at=taken.started_at,
        payload=taken.payload,
    )
