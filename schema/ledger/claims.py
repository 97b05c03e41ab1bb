"""The claim: the best runnable job of a lane, taken by one worker in one statement.

How it is found stands in the function `claim_job`, in the newest of `migrations/functions/*_claim_job.sql`.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import text

from schema.engine import Database


@dataclass(frozen=True)
class Claim:
    """A job that a worker holds; every write for it names its fence (I2).

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


class Missed(NamedTuple):
    """Nothing was taken though heads were seen: others were faster. `gate` had no slot left, if one was in the way."""

    gate: str | None


class Completed(NamedTuple):
    """A run has ended as done; `following` was claimed with its end."""

    following: Claim | None


_CLAIMED = (
    "(c.job).id, (c.job).account_id, (c.job).task, (c.job).lane, (c.job).key, (c.job).fence, (c.job).attempts, "
    "(c.job).max_attempts, (c.job).recoveries, (c.job).max_recoveries, (c.job).worker_id, (c.job).created_at, "
    "(c.job).started_at, c.payload"
)

_CLAIM = text(
    f"SELECT {_CLAIMED}, c.seen, c.gate FROM claim_job(:lane, :tasks, :shut, :suspects, :worker_id) AS c"  # noqa: S608  the columns are ours
)

# The claim takes its lane from the run that ended: where none did there is none.
_COMPLETE_AND_CLAIM = text(
    f"""
    SELECT {_CLAIMED}
    FROM complete_job(:account_id, :job_id, :fence, :reason, CAST(:result AS jsonb)) AS ended
    CROSS JOIN LATERAL claim_job(ended.lane, :tasks, '{{}}', :suspects, :worker_id) AS c
    """  # noqa: S608
)


def take(
    database: Database, *, worker_id: UUID, lane: str, tasks: Collection[str], suspects: bool, shut: Collection[str]
) -> Claim | Missed | None:
    """Take the best runnable job of the lane; None when there is none.

    Order: priority, turn, created_at, id. `suspects` False passes over jobs that were recovered before; `shut` names
    gates to pass over.
    """
    ((*job, seen, gate),) = database.ask_engine(
        _CLAIM,
        {"lane": lane, "tasks": list(tasks), "shut": list(shut), "suspects": suspects, "worker_id": worker_id},
    )
    if job[0] is not None:
        return Claim(*job)
    return Missed(gate) if seen else None


def complete_and_take(
    database: Database, held: Claim, *, reason: str | None, result: str | None, tasks: Collection[str], suspects: bool
) -> Completed | None:
    """End a run as done and take the best runnable job of its lane, in one transaction and one round trip.

    None when the fence is stale; nothing was taken either.
    """
    rows = database.ask_engine(
        _COMPLETE_AND_CLAIM,
        {
            "account_id": held.account_id,
            "job_id": held.job_id,
            "fence": held.fence,
            "reason": reason,
            "result": result,
            "tasks": list(tasks),
            "suspects": suspects,
            "worker_id": held.worker_id,
        },
    )
    if not rows:
        return None
    (job,) = rows
    return Completed(None if job[0] is None else Claim(*job))
