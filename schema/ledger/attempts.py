"""What became of the attempts that did not simply succeed. Appended, never changed."""

from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, text

_RECORD = text(
    """
    INSERT INTO job_attempts (id, account_id, job_id, fence, attempt, worker_id, outcome, reason, error, started_at)
    VALUES (:id, :account_id, :job_id, :fence, :attempt, :worker_id, :outcome, :reason, :error, :started_at)
    """
)

#: How an attempt ended that did not simply succeed.
Outcome = Literal["retried", "failed", "handed_over", "reaped", "canceled"]


class AttemptRecord(NamedTuple):
    """One row of `job_attempts`."""

    id: UUID
    account_id: UUID
    job_id: UUID
    fence: int
    attempt: int
    worker_id: UUID | None
    outcome: Outcome
    reason: str | None
    error: str | None
    started_at: datetime | None


def record(connection: Connection, attempt: AttemptRecord) -> None:
    """Append it."""
    connection.execute(_RECORD, attempt._asdict())
