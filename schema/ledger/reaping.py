"""Finding the runs whose worker is gone, silent or hung, and taking them back, one statement each."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, text

from schema.ledger.endings import ENDED_COLUMNS, Ended

# An outage ages nobody: time counts from the start of the database, and from `watched_since`, at the earliest.
_ABANDONED = """
    (w.id IS NULL
     OR greatest(w.beat_at, pg_postmaster_start_time(), CAST(:watched_since AS timestamptz))
        < clock_timestamp() - make_interval(secs => {stale})
     OR greatest(j.progress_at, pg_postmaster_start_time(), CAST(:watched_since AS timestamptz))
        < clock_timestamp() - make_interval(secs => {stall})
     OR w.id = ANY (CAST(:gone AS uuid[])))
"""

_SUSPICIOUS = text(
    f"""
    SELECT j.id, j.account_id, j.task, j.lane, j.fence
    FROM jobs j
    JOIN unnest(CAST(:tasks AS text[]), CAST(:stale AS float8[]), CAST(:stall AS float8[]))
         AS p(task, stale, stall) ON p.task = j.task
    LEFT JOIN workers w ON w.id = j.worker_id
    WHERE j.state = 'running' AND {_ABANDONED.format(stale="p.stale", stall="p.stall")}
      AND j.id <> ALL (CAST(:passed_over AS uuid[]))
    ORDER BY j.progress_at, j.id LIMIT :limit
    """  # noqa: S608  the condition is ours
)

_HELD_BY = text(
    """
    SELECT j.id, j.account_id, j.task, j.lane, j.fence FROM jobs j
    WHERE j.state = 'running' AND j.worker_id = ANY (CAST(:gone AS uuid[])) AND j.task = ANY (CAST(:tasks AS text[]))
    ORDER BY j.id LIMIT :limit
    """
)

# Looked at again in the statement that writes: a run that beats in between is left alone (E32).
_TAKE_BACK = text(
    f"""
    WITH abandoned AS (
        SELECT j.id, j.worker_id, j.started_at, j.attempts,
               CASE WHEN j.max_recoveries IS NULL THEN j.attempts >= j.max_attempts
                    ELSE j.recoveries >= j.max_recoveries END AS spent
        FROM jobs j LEFT JOIN workers w ON w.id = j.worker_id
        WHERE j.id = :job_id AND j.fence = :fence AND j.state = 'running'
          AND {_ABANDONED.format(stale=":stale", stall=":stall")}
        FOR UPDATE OF j
    ), taken AS (
        UPDATE jobs j
        SET fence = j.fence + 1,
            state = CASE WHEN a.spent THEN 'failed' ELSE 'pending' END,
            attempts = CASE WHEN j.max_recoveries IS NULL THEN j.attempts ELSE j.attempts - 1 END,
            recoveries = CASE WHEN a.spent THEN j.recoveries ELSE j.recoveries + 1 END,
            reason = CASE WHEN a.spent THEN :reason ELSE j.reason END,
            error = CASE WHEN a.spent
                THEN format('Given up after it was abandoned %s times: %s of %s items completed.',
                            j.recoveries + 1, coalesce(j.done_items, 0), coalesce(CAST(j.total_items AS text), '?'))
                ELSE 'Its worker was gone, silent or hung.' END,
            finished_at = CASE WHEN a.spent THEN clock_timestamp() END,
            started_at = CASE WHEN a.spent THEN j.started_at END,
            progress_at = CASE WHEN a.spent THEN j.progress_at END,
            worker_id = CASE WHEN a.spent THEN j.worker_id END
        FROM abandoned a
        WHERE j.id = a.id
        RETURNING {ENDED_COLUMNS}
    )
    SELECT t.*, a.worker_id, a.started_at, a.attempts FROM taken t CROSS JOIN abandoned a
    """  # noqa: S608  the condition is ours
)


_CLOCK = text("SELECT clock_timestamp()")


class Suspect(NamedTuple):
    """A run that looks abandoned."""

    job_id: UUID
    account_id: UUID
    task: str
    lane: str
    fence: int


class TakenBack(NamedTuple):
    """A run that was taken from its worker: `job` is now pending or failed; the rest is how it was held."""

    job: Ended
    worker_id: UUID
    started_at: datetime
    attempt: int


def clock(connection: Connection) -> datetime:
    """What time it is for the database."""
    now: datetime = connection.execute(_CLOCK).scalar_one()
    return now


def suspicious(
    connection: Connection,
    patience: Collection[tuple[str, timedelta, timedelta]],
    *,
    gone: Collection[UUID],
    watched_since: datetime | None,
    passed_over: Collection[UUID],
    limit: int,
) -> list[Suspect]:
    """Runs that look abandoned, the longest without progress first, but for those `passed_over`.

    `patience` is (task, stale_after, stall_after) of each task known here; `gone` are workers known to be dead.
    """
    rows = connection.execute(
        _SUSPICIOUS,
        {
            "tasks": [task for task, _, _ in patience],
            "stale": [stale.total_seconds() for _, stale, _ in patience],
            "stall": [stall.total_seconds() for _, _, stall in patience],
            "gone": list(gone),
            "watched_since": watched_since,
            "passed_over": list(passed_over),
            "limit": limit,
        },
    )
    return [Suspect(*row) for row in rows]


def held_by(connection: Connection, gone: Collection[UUID], tasks: Collection[str], limit: int) -> list[Suspect]:
    """Runs of workers known to be dead."""
    rows = connection.execute(_HELD_BY, {"gone": list(gone), "tasks": list(tasks), "limit": limit})
    return [Suspect(*row) for row in rows]


def take_back(
    connection: Connection,
    suspect: Suspect,
    *,
    stale_after: timedelta,
    stall_after: timedelta,
    gone: Collection[UUID],
    watched_since: datetime | None,
    reason: str,
) -> TakenBack | None:
    """Take a run from its worker and raise its fence, if it still is abandoned: back to pending, or failed."""
    row = connection.execute(
        _TAKE_BACK,
        {
            "job_id": suspect.job_id,
            "fence": suspect.fence,
            "stale": stale_after.total_seconds(),
            "stall": stall_after.total_seconds(),
            "gone": list(gone),
            "watched_since": watched_since,
            "reason": reason,
        },
    ).one_or_none()
    if row is None:
        return None
    *job, worker_id, started_at, attempt = row
    return TakenBack(Ended(*job), worker_id, started_at, attempt)
