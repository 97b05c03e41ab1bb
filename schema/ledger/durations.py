"""How long jobs took: in one claim, or from the first of several to their end."""

from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

from sqlalchemy import Connection, text

from schema.engine import Database

_IN_ONE_CLAIM = text(
    "SELECT max(finished_at - started_at) FROM jobs WHERE finished_at > now() - CAST(:within AS interval)"
)
_CLAIMED_AGAIN = text(
    """
    SELECT account_id, array_agg(id) FROM (
        SELECT account_id, id FROM jobs
        WHERE finished_at > now() - CAST(:within AS interval) AND fence > 1
        ORDER BY finished_at - created_at DESC LIMIT :limit
    ) longest GROUP BY account_id
    """
)
_FROM_THE_FIRST = text(
    """
    SELECT max(j.finished_at - a.started_at) FROM job_attempts a JOIN jobs j ON j.id = a.job_id
    WHERE a.job_id = ANY (:jobs)
    """
)


def in_one_claim(database: Database, within: timedelta) -> timedelta | None:
    """The longest last claim of the jobs that ended within that time; None: none did."""
    ((found,),) = database.ask_engine(_IN_ONE_CLAIM, {"within": within})
    return found if isinstance(found, timedelta) else None


def claimed_again(database: Database, within: timedelta, limit: int) -> list[tuple[UUID, list[UUID]]]:
    """(account, its jobs): of those that ended within that time after several claims, the oldest when they ended."""
    rows = database.ask_engine(_CLAIMED_AGAIN, {"within": within, "limit": limit})
    return [(account_id, jobs) for account_id, jobs in rows]


def from_the_first(connection: Connection, jobs: Collection[UUID]) -> timedelta | None:
    """The longest of these jobs of the account, from the first claim that did not simply succeed."""
    found: timedelta | None = connection.execute(_FROM_THE_FIRST, {"jobs": list(jobs)}).scalar_one()
    return found
