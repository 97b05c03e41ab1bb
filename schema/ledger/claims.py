"""The claim: the best runnable job of a lane, taken by one worker in one statement.

How it is found stands in the function `claim_job`, in the newest of `migrations/functions/*_claim_job.sql`.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import text

from schema.engine import Database


class Taken(NamedTuple):
    """What a claim took."""

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
    created_at: datetime
    started_at: datetime
    payload: dict[str, Any] | None


class Missed(NamedTuple):
    """Nothing was taken though heads were seen: others were faster. `gate` had no slot left, if one was in the way."""

    gate: str | None


_CLAIM = text(
    """
    SELECT (c.job).id, (c.job).account_id, (c.job).task, (c.job).lane, (c.job).key, (c.job).fence, (c.job).attempts,
           (c.job).max_attempts, (c.job).recoveries, (c.job).max_recoveries, (c.job).created_at, (c.job).started_at,
           c.payload, c.seen, c.gate
    FROM claim_job(:lane, :tasks, :shut, :suspects, :worker_id) AS c
    """
)


def take(
    database: Database, *, worker_id: UUID, lane: str, tasks: Collection[str], suspects: bool, shut: Collection[str]
) -> Taken | Missed | None:
    """Take the best runnable job of the lane; None when there is none.

    Order: priority, turn, created_at, id. `suspects` False passes over jobs that were recovered before; `shut` names
    gates to pass over.
    """
    ((*job, seen, gate),) = database.ask_engine(
        _CLAIM,
        {"lane": lane, "tasks": list(tasks), "shut": list(shut), "suspects": suspects, "worker_id": worker_id},
    )
    if job[0] is not None:
        return Taken._make(job)
    return Missed(gate) if seen else None
