"""What a run writes while it runs: progress and checkpoints, each in a transaction of its own, fenced (I2, I7)."""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection

from ledger import fencing
from ledger.claiming import Claim
from schema.engine import Database
from schema.ledger import jobs

T = TypeVar("T")


def progress(database: Database, claim: Claim, *, done: int | None = None, total: int | None = None) -> None:
    """Say that the run's work advances, and how many of its items are done.

    Raises:
        ClaimLost: the claim is no longer held.
        DatabaseAway: it can't be written now.
    """
    fencing.refuse_stale(
        jobs.progress_alone(database, claim.account_id, claim.job_id, claim.fence, done=done, total=total)
    )


def checkpoint(database: Database, claim: Claim, write: Callable[[Connection], T]) -> T:
    """Commit what a pass has brought, so that it is never paid for again (I7, E29). Counts as progress.

    `write` gets the account's transaction. The job's row is locked first: a cancel waits for it, or it finds nothing.

    Raises:
        ClaimLost: the claim is no longer held; nothing was written.
        DatabaseAway: it can't be written now.
    """
    with database.account(claim.account_id) as connection:
        fencing.refuse_stale(
            jobs.progress(connection, claim.account_id, claim.job_id, claim.fence, done=None, total=None)
        )
        return write(connection)
