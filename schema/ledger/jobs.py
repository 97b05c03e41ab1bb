"""The job row: its insert, and the signs of life of its run. Writes of a run name its fence (I2)."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, text

from schema.engine import Database

# A conflict on the key of an open job inserts nothing, and so does the body.
_INSERT = text(
    """
    WITH job AS (
        INSERT INTO jobs (id, account_id, task, lane, bucket, priority, key, max_attempts, max_recoveries,
                          due_at, ready, total_items)
        VALUES (:id, :account_id, :task, :lane, :bucket, :priority, :key, :max_attempts, :max_recoveries,
                coalesce(CAST(:due_at AS timestamptz), clock_timestamp()),
                coalesce(CAST(:due_at AS timestamptz) <= clock_timestamp(), true), :total_items)
        ON CONFLICT (account_id, key) WHERE key IS NOT NULL AND state IN ('pending', 'running') DO NOTHING
        RETURNING id, account_id
    )
    INSERT INTO job_bodies (job_id, account_id, payload)
    SELECT job.id, job.account_id, CAST(:payload AS jsonb) FROM job
    RETURNING job_id
    """
)

_INSERT_MANY = text(
    """
    WITH given AS (
        SELECT * FROM unnest(CAST(:ids AS uuid[]), CAST(:payloads AS text[])) WITH ORDINALITY AS g(id, payload, n)
    ), job AS (
        INSERT INTO jobs (id, account_id, task, lane, bucket, priority, max_attempts, max_recoveries, ready)
        SELECT g.id, :account_id, :task, :lane, :bucket, CAST(:priority AS integer), CAST(:max_attempts AS integer),
               CAST(:max_recoveries AS integer), true
        FROM given g ORDER BY g.n
        RETURNING id, account_id
    )
    INSERT INTO job_bodies (job_id, account_id, payload)
    SELECT job.id, job.account_id, CAST(g.payload AS jsonb) FROM job JOIN given g USING (id)
    """
)

_OPEN_WITH_KEY = text(
    "SELECT id FROM jobs WHERE account_id = :account_id AND key = :key AND state IN ('pending', 'running')"
)

_PROGRESS = text("SELECT move_progress(:account_id, :job_id, :fence, :done, :total)")


class NewJob(NamedTuple):
    """The columns of a job to insert; `payload` is JSON text."""

    id: UUID
    account_id: UUID
    task: str
    lane: str
    bucket: str
    priority: int
    key: str | None
    max_attempts: int | None
    max_recoveries: int | None
    due_at: datetime | None
    total_items: int | None
    payload: str


def insert(connection: Connection, job: NewJob) -> bool:
    """Insert a job with its body; False when an open job of its account holds its key (I6)."""
    return connection.execute(_INSERT, job._asdict()).scalar() is not None


def insert_many(connection: Connection, job: NewJob, ids: Sequence[UUID], payloads: Sequence[str]) -> None:
    """Insert jobs without keys that differ only in id and payload, in the order given."""
    connection.execute(_INSERT_MANY, {**job._asdict(), "ids": list(ids), "payloads": list(payloads)})


def open_with_key(connection: Connection, account_id: UUID, key: str) -> UUID | None:
    """The open job that holds the key, if one does."""
    found: UUID | None = connection.execute(_OPEN_WITH_KEY, {"account_id": account_id, "key": key}).scalar()
    return found


def progress(
    connection: Connection, account_id: UUID, job_id: UUID, fence: int, *, done: int | None, total: int | None
) -> bool:
    """Move a run's progress and lock its row until the transaction ends; False when the fence is stale."""
    moved: bool = connection.execute(_PROGRESS, _progress(account_id, job_id, fence, done, total)).scalar_one()
    return moved


def progress_alone(
    database: Database, account_id: UUID, job_id: UUID, fence: int, *, done: int | None, total: int | None
) -> bool:
    """The same as a transaction of its own, in one round trip."""
    ((moved,),) = database.ask_app(_PROGRESS, _progress(account_id, job_id, fence, done, total))
    return bool(moved)


def _progress(
    account_id: UUID, job_id: UUID, fence: int, done: int | None, total: int | None
) -> dict[str, UUID | int | None]:
    return {"account_id": account_id, "job_id": job_id, "fence": fence, "done": done, "total": total}
