"""Canceling a job, waiting or running, from any process: the row first, then the word to whoever holds it (E36)."""

from typing import Literal
from uuid import UUID

from broker import signals
from ledger import ending
from schema.engine import Database


def cancel(database: Database, account_id: UUID, job_id: UUID, *, by: str) -> Literal["accepted", "already_ended"]:
    """Cancel it. Accepted is final: nothing that its run writes later is taken (I8).

    Raises:
        NotFound: the account has no such job.
        DatabaseAway: it could not be written now.
    """
    answer, fence = ending.cancel(database, account_id, job_id, by=by)
    if answer == "accepted":
        signals.publish_abort(job_id, fence, "canceled")
    return answer
