"""Worker processes: one row each, written by its beat."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, text

from schema.engine import Database

_INSERT = text(
    """
    INSERT INTO workers (id, host, boot_id, pid_namespace, pid, start_ticks, lanes, tasks)
    VALUES (:id, :host, :boot_id, :pid_namespace, :pid, :start_ticks,
            CAST(:lanes AS text[]), CAST(:tasks AS text[]))
    """
)
_BEAT = text("UPDATE workers SET beat_at = clock_timestamp() WHERE id = :worker_id RETURNING id")
# A statement of its own: one that wrote to the job rows would wait for finishing runs, and deadlock with them.
_HELD = text("SELECT id, fence FROM jobs WHERE worker_id = :worker_id AND state = 'running'")
_HOLDING = text(
    "SELECT account_id, attempts, started_at FROM jobs "
    "WHERE id = :job_id AND fence = :fence AND worker_id = :worker_id AND state = 'running'"
)
_RETIRE = text("UPDATE workers SET retired_at = clock_timestamp() WHERE id = :worker_id AND retired_at IS NULL")
_ALIVE = text(
    "SELECT count(*) FROM workers WHERE CAST(:lane AS text) = ANY (lanes) AND retired_at IS NULL "
    "AND beat_at > clock_timestamp() - CAST(:within AS interval)"
)
_NEIGHBOURS = text(
    """
    SELECT w.id, w.pid, w.start_ticks FROM workers w
    WHERE w.boot_id = :boot_id AND w.pid_namespace = :pid_namespace
      AND EXISTS (SELECT FROM jobs j WHERE j.worker_id = w.id AND j.state = 'running')
    """
)


class Held(NamedTuple):
    """A run as its worker holds it."""

    account_id: UUID
    attempts: int
    started_at: datetime


class Neighbour(NamedTuple):
    """A worker that holds jobs and shares the observer's boot and PID namespace."""

    worker_id: UUID
    pid: int
    start_ticks: int | None


def insert(
    connection: Connection,
    *,
    worker_id: UUID,
    host: str,
    boot_id: str | None,
    pid_namespace: int | None,
    pid: int,
    start_ticks: int | None,
    lanes: Sequence[str],
    tasks: Sequence[str],
) -> None:
    """Enter a process that is about to take jobs."""
    connection.execute(
        _INSERT,
        {
            "id": worker_id,
            "host": host,
            "boot_id": boot_id,
            "pid_namespace": pid_namespace,
            "pid": pid,
            "start_ticks": start_ticks,
            "lanes": list(lanes),
            "tasks": list(tasks),
        },
    )


def beat(database: Database, worker_id: UUID) -> tuple[bool, list[tuple[UUID, int]]]:
    """Say that the process lives, then read the (job id, fence) of the running jobs that name it.

    The first value is False when the process has no row.
    """
    beaten = database.ask_engine(_BEAT, {"worker_id": worker_id})
    held = database.ask_engine(_HELD, {"worker_id": worker_id})
    return bool(beaten), [(job_id, fence) for job_id, fence in held]


def holding(connection: Connection, worker_id: UUID, job_id: UUID, fence: int) -> Held | None:
    """The run of that worker under that fence."""
    row = connection.execute(_HOLDING, {"worker_id": worker_id, "job_id": job_id, "fence": fence}).one_or_none()
    return None if row is None else Held._make(row)


def retire(connection: Connection, worker_id: UUID) -> None:
    """Note that the process ended as it should."""
    connection.execute(_RETIRE, {"worker_id": worker_id})


def alive(connection: Connection, lane: str, within: timedelta) -> int:
    """How many processes serve the lane and beat within that time."""
    found: int = connection.execute(_ALIVE, {"lane": lane, "within": within}).scalar_one()
    return found


def neighbours(connection: Connection, boot_id: str, pid_namespace: int) -> list[Neighbour]:
    """The workers with jobs whose processes an observer of that boot and namespace can look at."""
    rows = connection.execute(_NEIGHBOURS, {"boot_id": boot_id, "pid_namespace": pid_namespace})
    return [Neighbour(*row) for row in rows]
