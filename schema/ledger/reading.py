"""Reading jobs for people: lists never touch a body, pages go by key."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, select, text

from schema.ledger.tables import jobs, workers

_COLUMNS = (
    jobs.c.id,
    jobs.c.task,
    jobs.c.lane,
    jobs.c.bucket,
    jobs.c.priority,
    jobs.c.key,
    jobs.c.state,
    jobs.c.ready,
    jobs.c.reason,
    jobs.c.attempts,
    jobs.c.max_attempts,
    jobs.c.recoveries,
    jobs.c.max_recoveries,
    jobs.c.fence,
    jobs.c.worker_id,
    workers.c.host,
    workers.c.beat_at,
    jobs.c.created_at,
    jobs.c.due_at,
    jobs.c.started_at,
    jobs.c.progress_at,
    jobs.c.done_items,
    jobs.c.total_items,
    jobs.c.finished_at,
    jobs.c.error,
)

_BODY = text("SELECT octet_length(CAST(payload AS text)), result FROM job_bodies WHERE job_id = :job_id")
_PAYLOAD = text("SELECT payload FROM job_bodies WHERE job_id = :job_id")
_ATTEMPTS = text(
    "SELECT fence, attempt, worker_id, outcome, reason, error, started_at, ended_at FROM job_attempts "
    "WHERE job_id = :job_id ORDER BY ended_at, id"
)
_KNOWN = text(
    "SELECT EXISTS (SELECT FROM workers w WHERE :lane = ANY (w.lanes) AND :task = ANY (w.tasks) "
    "AND w.retired_at IS NULL AND w.beat_at > now() - CAST(:within AS interval))"
)


class JobRow(NamedTuple):
    """A job as a list shows it; `host` and `beat_at` are its worker's."""

    id: UUID
    task: str
    lane: str
    bucket: str
    priority: int
    key: str | None
    state: str
    ready: bool
    reason: str | None
    attempts: int
    max_attempts: int | None
    recoveries: int
    max_recoveries: int | None
    fence: int
    worker_id: UUID | None
    host: str | None
    beat_at: datetime | None
    created_at: datetime
    due_at: datetime
    started_at: datetime | None
    progress_at: datetime | None
    done_items: int | None
    total_items: int | None
    finished_at: datetime | None
    error: str | None


class AttemptRow(NamedTuple):
    """An attempt that did not simply succeed."""

    fence: int
    attempt: int
    worker_id: UUID | None
    outcome: str
    reason: str | None
    error: str | None
    started_at: datetime | None
    ended_at: datetime


def page(
    connection: Connection,
    *,
    states: Collection[str],
    lanes: Collection[str],
    tasks: Collection[str],
    key: str | None,
    reason: str | None,
    before: UUID | None,
    limit: int,
) -> list[JobRow]:
    """One page of the account's jobs, newest first; the next is `before` its last id. An empty filter lets all pass."""
    wanted: list[ColumnElement[bool]] = [
        column.in_(values)
        for column, values in ((jobs.c.state, states), (jobs.c.lane, lanes), (jobs.c.task, tasks))
        if values
    ]
    wanted += [column == value for column, value in ((jobs.c.key, key), (jobs.c.reason, reason)) if value is not None]
    if before is not None:
        wanted.append(jobs.c.id < before)
    query = (
        select(*_COLUMNS)
        .select_from(jobs.outerjoin(workers, workers.c.id == jobs.c.worker_id))
        .where(*wanted)
        .order_by(jobs.c.id.desc())
        .limit(limit)
    )
    return [JobRow._make(row) for row in connection.execute(query)]


def one(connection: Connection, job_id: UUID) -> JobRow | None:
    """A job of the account."""
    query = (
        select(*_COLUMNS)
        .select_from(jobs.outerjoin(workers, workers.c.id == jobs.c.worker_id))
        .where(jobs.c.id == job_id)
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else JobRow._make(row)


def body(connection: Connection, job_id: UUID) -> tuple[int, dict[str, Any] | None]:
    """(length of the payload in bytes, result) of a job."""
    size, result = connection.execute(_BODY, {"job_id": job_id}).one()
    return size, result


def payload(connection: Connection, job_id: UUID) -> dict[str, Any] | None:
    """What the job was asked; None when it is gone."""
    found: dict[str, Any] | None = connection.execute(_PAYLOAD, {"job_id": job_id}).scalar_one_or_none()
    return found


def attempts(connection: Connection, job_id: UUID) -> list[AttemptRow]:
    """The attempts of a job that did not simply succeed, in order."""
    return [AttemptRow(*row) for row in connection.execute(_ATTEMPTS, {"job_id": job_id})]


def known_to_a_worker(connection: Connection, lane: str, task: str, within: timedelta) -> bool:
    """Whether a live worker of the lane knows the task."""
    found: bool = connection.execute(_KNOWN, {"lane": lane, "task": task, "within": within}).scalar_one()
    return found
