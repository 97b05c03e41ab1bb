"""Jobs as people ask for them: a list, one in full, and why one still waits."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from base import clock
from base.errors import NotFound
from ledger.policy import GATE_MARK
from ledger.workers import ALIVE_WITHIN
from schema.engine import Database
from schema.ledger import gates, reading
from schema.ledger.reading import AttemptRow, JobRow, payload

__all__ = ["AttemptRow", "JobDetail", "JobRow", "list_jobs", "payload", "show_job"]


@dataclass(frozen=True)
class JobDetail:
    """A job in full. `waiting` says in a sentence why it does not run yet; None when it doesn't wait."""

    job: JobRow
    payload_bytes: int
    result: dict[str, Any] | None
    attempts: Sequence[AttemptRow]
    waiting: str | None


def list_jobs(
    database: Database,
    account_id: UUID,
    *,
    states: Collection[str] = (),
    lanes: Collection[str] = (),
    tasks: Collection[str] = (),
    key: str | None = None,
    reason: str | None = None,
    before: UUID | None = None,
    limit: int = 50,
) -> Sequence[JobRow]:
    """A page of the account's jobs, newest first. Empty filters let all pass; the next page is `before` the last id."""
    with database.account(account_id) as connection:
        return reading.page(
            connection,
            states=states,
            lanes=lanes,
            tasks=tasks,
            key=key,
            reason=reason,
            before=before,
            limit=limit,
        )


def show_job(database: Database, account_id: UUID, job_id: UUID) -> JobDetail:
    """One job in full.

    Raises:
        NotFound: the account has no such job.
    """
    with database.account(account_id) as connection:
        job = reading.one(connection, job_id)
        if job is None:
            raise NotFound(f"There is no job {job_id} in this account.")
        payload_bytes, result = reading.body(connection, job_id)
        attempts = reading.attempts(connection, job_id)
        known = reading.known_to_a_worker(connection, job.lane, job.task, ALIVE_WITHIN)
        gate = job.bucket.partition(GATE_MARK)[2] or None
        slots, used = gates.fill(connection, gate) if gate else (0, 0)
    return JobDetail(job, payload_bytes, result, attempts, _waiting(job, gate, slots, used, known))


def _waiting(job: JobRow, gate: str | None, slots: int, used: int, known: bool) -> str | None:
    if job.state != "pending":
        return None
    if not job.ready and job.due_at > clock.now():
        why = "It failed and is tried again" if job.attempts else "It is due"
        return f"{why} at {job.due_at:%Y-%m-%d %H:%M:%S %Z}."
    if not known:
        return f"No live worker of the lane {job.lane} knows the task {job.task}."
    if gate and used >= slots:
        return f"The gate {gate} is full: {used} of {slots} are running."
    return "It waits for its turn."
