"""Finding the runs whose worker is gone, silent or hung, and taking them back, one statement each."""

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import cache
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, TextClause, text

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

# What runs, but for what is held by workers known to be dead: those are no sign of anything else.
_IN_FLIGHT = text(
    f"""
    SELECT count(*), count(*) FILTER (WHERE {_ABANDONED.format(stale="p.stale", stall="p.stall")}),
           clock_timestamp() - min(w.beat_at)
    FROM jobs j
    JOIN unnest(CAST(:tasks AS text[]), CAST(:stale AS float8[]), CAST(:stall AS float8[]))
         AS p(task, stale, stall) ON p.task = j.task
    LEFT JOIN workers w ON w.id = j.worker_id
    WHERE j.state = 'running' AND (w.id IS NULL OR w.id <> ALL (CAST(:gone AS uuid[])))
    """  # noqa: S608  the condition is ours
)


def still_abandoned() -> str:
    """What the statement that writes looks at again: a run that beats in between is left alone (E32)."""
    return _ABANDONED.format(stale=":stale", stall=":stall")


def still_held() -> str:
    """And whether the run is still the one that was found: it may have been taken, and claimed again, in between."""
    return "j.fence = :fence AND j.state = 'running'"


# A statement of its own: one that waited for the row would judge by the beats from before it waited.
_LOCK = text("SELECT FROM jobs WHERE id = :job_id FOR UPDATE")


# Nobody tells a worker that is gone: its run is due at once. Any other hears that it lost it before the next begins.
@cache
def _take_back() -> TextClause:
    return text(
        f"""
        WITH abandoned AS (
            SELECT j.id, j.worker_id, j.started_at, j.attempts,
                   w.id IS NOT NULL AND w.id = ANY (CAST(:gone AS uuid[])) AS gone, b.job_id IS NULL AS unasked,
                   b.job_id IS NULL OR CASE WHEN j.max_recoveries IS NULL THEN j.attempts >= j.max_attempts
                                            ELSE j.recoveries >= j.max_recoveries END AS given_up,
                   format('%s of %s items completed.', coalesce(j.done_items, 0),
                          coalesce(CAST(j.total_items AS text), '?')) AS done
            FROM jobs j
            LEFT JOIN workers w ON w.id = j.worker_id
            LEFT JOIN job_bodies b ON b.job_id = j.id
            WHERE j.id = :job_id AND {still_held()} AND {still_abandoned()}
        ), taken AS (
            UPDATE jobs j
            SET fence = j.fence + 1,
                state = CASE WHEN a.given_up THEN 'failed' ELSE 'pending' END,
                ready = a.given_up OR a.gone,
                due_at = CASE WHEN a.given_up THEN j.due_at WHEN a.gone THEN clock_timestamp()
                              ELSE clock_timestamp() + CAST(:told_within AS interval) END,
                attempts = CASE WHEN j.max_recoveries IS NULL THEN j.attempts ELSE j.attempts - 1 END,
                recoveries = CASE WHEN a.given_up THEN j.recoveries ELSE j.recoveries + 1 END,
                reason = CASE WHEN a.unasked THEN :request_gone WHEN a.given_up THEN :exhausted ELSE j.reason END,
                error = CASE
                    WHEN a.unasked THEN format('Given up, because its stored request is gone: %s', a.done)
                    WHEN a.given_up THEN
                        format('Given up after it was abandoned %s: %s', CASE j.recoveries WHEN 0 THEN 'once'
                               ELSE format('%s times', j.recoveries + 1) END, a.done)
                    ELSE 'Its worker was gone, silent or hung.' END,
                finished_at = CASE WHEN a.given_up THEN clock_timestamp() END,
                started_at = CASE WHEN a.given_up THEN j.started_at END,
                progress_at = CASE WHEN a.given_up THEN j.progress_at END,
                worker_id = CASE WHEN a.given_up THEN j.worker_id END
            FROM abandoned a
            WHERE j.id = a.id
            RETURNING {ENDED_COLUMNS}
        )
        SELECT t.*, a.worker_id, a.started_at, a.attempts, a.gone FROM taken t CROSS JOIN abandoned a
        """  # noqa: S608  the conditions are ours
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
    gone: bool


class InFlight(NamedTuple):
    """How many jobs run, how many of them look abandoned, and how old the oldest beat of their workers is."""

    running: int
    abandoned: int
    oldest_beat: timedelta | None


def clock(connection: Connection) -> datetime:
    """What time it is for the database."""
    now: datetime = connection.execute(_CLOCK).scalar_one()
    return now


#: (task, stale_after, stall_after) of each task known here.
Patience = Collection[tuple[str, timedelta, timedelta]]


def in_flight(
    connection: Connection, patience: Patience, *, gone: Collection[UUID], watched_since: datetime | None
) -> InFlight:
    """What runs, but for the runs of workers known to be dead."""
    row = connection.execute(_IN_FLIGHT, _looked_at(patience, gone, watched_since)).one()
    return InFlight._make(row)


def suspicious(
    connection: Connection,
    patience: Patience,
    *,
    gone: Collection[UUID],
    watched_since: datetime | None,
    passed_over: Collection[UUID],
    limit: int,
) -> list[Suspect]:
    """Runs that look abandoned, the longest without progress first, but for those `passed_over`.

    `gone` are workers known to be dead.
    """
    looked_at = _looked_at(patience, gone, watched_since)
    rows = connection.execute(_SUSPICIOUS, {**looked_at, "passed_over": list(passed_over), "limit": limit})
    return [Suspect(*row) for row in rows]


def _looked_at(patience: Patience, gone: Collection[UUID], watched_since: datetime | None) -> dict[str, object]:
    return {
        "tasks": [task for task, _, _ in patience],
        "stale": [stale.total_seconds() for _, stale, _ in patience],
        "stall": [stall.total_seconds() for _, _, stall in patience],
        "gone": list(gone),
        "watched_since": watched_since,
    }


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
    told_within: timedelta,
    exhausted: str,
    request_gone: str,
) -> TakenBack | None:
    """Take a run from its worker and raise its fence, if it still is abandoned: back to pending, or failed.

    Due after `told_within`, in which its worker hears of it; at once when that is one of those `gone`. It fails, for
    one of the two reasons, when that happened too often or nobody knows any more what was asked for (E33).
    """
    connection.execute(_LOCK, {"job_id": suspect.job_id})
    row = connection.execute(
        _take_back(),
        {
            "job_id": suspect.job_id,
            "fence": suspect.fence,
            "stale": stale_after.total_seconds(),
            "stall": stall_after.total_seconds(),
            "gone": list(gone),
            "watched_since": watched_since,
            "told_within": told_within,
            "exhausted": exhausted,
            "request_gone": request_gone,
        },
    ).one_or_none()
    if row is None:
        return None
    *job, worker_id, started_at, attempt, gone_for_good = row
    return TakenBack(Ended(*job), worker_id, started_at, attempt, gone_for_good)
