"""The ways out of `running`: ended, or back to `pending`. Each names a fence; a stale one writes nothing (I2).

Only a cancel and a reap take a run away from its holder, so only they raise the fence.
"""

from datetime import datetime, timedelta
from typing import Literal, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, text

from schema.engine import Database

ENDED_COLUMNS = (
    "j.id, j.account_id, j.task, j.lane, j.key, j.state, j.reason, j.error, j.done_items, j.total_items, "
    "j.attempts, j.recoveries, j.fence, j.worker_id, j.created_at, j.started_at, j.finished_at"
)

_COMPLETE = text(
    f"SELECT {ENDED_COLUMNS} FROM complete_job(:account_id, :job_id, :fence, :reason, CAST(:result AS jsonb)) AS j"  # noqa: S608  the columns are ours
)

_FAIL = text(
    f"""
    UPDATE jobs j SET state = 'failed', reason = :reason, error = :error, finished_at = clock_timestamp(),
                      attempts = j.attempts - CAST(:given_back AS integer)
    WHERE j.id = :job_id AND j.fence = :fence AND j.state = 'running'
    RETURNING {ENDED_COLUMNS}
    """  # noqa: S608
)

_CANCEL = text(
    f"""
    UPDATE jobs j SET state = 'canceled', reason = :reason, error = :error, finished_at = clock_timestamp(),
                      fence = j.fence + 1
    WHERE j.id = :job_id AND j.state IN ('pending', 'running')
    RETURNING {ENDED_COLUMNS}
    """  # noqa: S608
)

_RELEASE = text(
    """
    UPDATE jobs
    SET state = 'pending', ready = CAST(:wait AS interval) <= interval '0', worker_id = NULL,
        due_at = clock_timestamp() + CAST(:wait AS interval), started_at = NULL, progress_at = NULL, error = :error,
        attempts = attempts - CAST(:given_back AS integer), recoveries = recoveries + CAST(:recovered AS integer)
    WHERE id = :job_id AND fence = :fence AND state = 'running'
    """
)

_FREE_SLOT = text("UPDATE gate_slots SET job_id = NULL WHERE job_id = :job_id")

_STATE = text("SELECT state FROM jobs WHERE id = :job_id")


class Ended(NamedTuple):
    """A job as the statement left it that ended it. One that was taken from its worker may be `pending` again."""

    job_id: UUID
    account_id: UUID
    task: str
    lane: str
    key: str | None
    outcome: Literal["done", "failed", "canceled", "pending"]
    reason: str | None
    error: str | None
    done_items: int | None
    total_items: int | None
    attempts: int
    recoveries: int
    fence: int
    worker_id: UUID | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


def complete(
    connection: Connection, account_id: UUID, job_id: UUID, fence: int, *, reason: str | None, result: str | None
) -> Ended | None:
    """End a run as done, free its slot, store its result (JSON text); None when the fence is stale."""
    row = connection.execute(_COMPLETE, _complete(account_id, job_id, fence, reason, result)).one_or_none()
    return None if row is None else Ended(*row)


def complete_alone(
    database: Database, account_id: UUID, job_id: UUID, fence: int, *, reason: str | None, result: str | None
) -> bool:
    """The same as a transaction of its own, in one round trip."""
    return bool(database.ask_app(_COMPLETE, _complete(account_id, job_id, fence, reason, result)))


def _complete(
    account_id: UUID, job_id: UUID, fence: int, reason: str | None, result: str | None
) -> dict[str, UUID | int | str | None]:
    return {"account_id": account_id, "job_id": job_id, "fence": fence, "reason": reason, "result": result}


def fail(
    connection: Connection, job_id: UUID, fence: int, *, reason: str, error: str, given_back: int = 0
) -> Ended | None:
    """End a run as failed; None when the fence is stale. `given_back` attempts are not counted."""
    parameters = {"job_id": job_id, "fence": fence, "reason": reason, "error": error, "given_back": given_back}
    row = connection.execute(_FAIL, parameters).one_or_none()
    return None if row is None else Ended(*row)


def cancel(connection: Connection, job_id: UUID, reason: str, error: str) -> Ended | None:
    """End an open job as canceled, whoever holds it, and raise its fence (I8); None when it isn't open."""
    row = connection.execute(_CANCEL, {"job_id": job_id, "reason": reason, "error": error}).one_or_none()
    return None if row is None else Ended(*row)


def release(
    connection: Connection,
    job_id: UUID,
    fence: int,
    *,
    wait: timedelta,
    error: str | None,
    given_back: int = 0,
    recovered: int = 0,
) -> bool:
    """Put a run back to pending, due after `wait`; False when the fence is stale."""
    parameters = {
        "job_id": job_id,
        "fence": fence,
        "wait": wait,
        "error": error,
        "given_back": given_back,
        "recovered": recovered,
    }
    return connection.execute(_RELEASE, parameters).rowcount == 1


def free_slot(connection: Connection, job_id: UUID) -> None:
    """Let the next job through the gate this one went through, if it did."""
    connection.execute(_FREE_SLOT, {"job_id": job_id})


def state(connection: Connection, job_id: UUID) -> str | None:
    """The state of a job; None when the account has no such job."""
    found: str | None = connection.execute(_STATE, {"job_id": job_id}).scalar()
    return found
