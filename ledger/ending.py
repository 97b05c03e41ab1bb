"""The ends of a run: done, failed, canceled, or back to pending for another try.

Each is one transaction in the job's account: the fence first, then what the run brought, its follow-ups, and the
reaction its step declared. All of it or none (I4); of a cancel and a finish exactly one wins (I8).
"""

from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from typing import Literal, NamedTuple
from uuid import UUID

from pydantic import BaseModel
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from base.errors import NotFound
from base.ids import uuid7
from base.logs import get
from ledger import fencing
from ledger.claiming import Claim
from ledger.inserting import FollowUp, follow_up
from ledger.policy import Ended, policy
from ledger.scrubbing import storable
from schema.engine import Database
from schema.ledger import attempts, claims, endings

_log = get(__name__)


class Cancel(NamedTuple):
    """What came of asking for one. `fence`: under which a run may still be going on, to be told."""

    answer: Literal["accepted", "already_ended"]
    fence: int = 0


#: Reason of a job that lost its worker too often.
RECOVERY_EXHAUSTED = "recovery_exhausted"
#: Reason of a job of which nobody knows any more what was asked for.
REQUEST_GONE = "request_gone"
#: Reason of a job that gave its claim back once too often without having finished anything.
NO_PROGRESS = "no_progress"
#: Reason of a job whose last allowed attempt failed.
ATTEMPTS_EXHAUSTED = "attempts_exhausted"


def complete(
    database: Database,
    claim: Claim,
    result: BaseModel | None = None,
    *,
    write: Callable[[Connection], None] | None = None,
    reason: str | None = None,
    follow_ups: Sequence[FollowUp] = (),
    next_of: Collection[str] = (),
    suspects: bool = True,
) -> Claim | None:
    """End a run as done. `write` gets the account's transaction; `reason` says what kind of done, if not the plain one.

    Where the end brings no more than a result, and `next_of` names tasks, the worker's next claim is made with it:
    the best runnable job of the lane among them, as `claiming.claim` has it, or None.

    Raises:
        ClaimLost: the claim is no longer held; nothing was written.
        DatabaseAway: it could not be written now.
    """
    json = None if result is None else result.model_dump_json()
    on_end = policy(claim.task).on_end
    if write is None and not follow_ups and on_end is None:
        return _complete_alone(database, claim, reason, json, next_of, suspects=suspects)
    with database.account(claim.account_id) as connection:
        row = fencing.refuse_stale(
            endings.complete(connection, claim.account_id, claim.job_id, claim.fence, reason=reason, result=json)
        )
        if write is not None:
            write(connection)
        for wanted in follow_ups:
            follow_up(connection, claim.account_id, wanted)
        react(connection, row)
    return None


def fail(database: Database, claim: Claim, *, reason: str, error: BaseException | str) -> None:
    """End a run as failed for good.

    Raises:
        ClaimLost: the claim is no longer held; nothing was written.
        DatabaseAway: it could not be written now.
    """
    with database.account(claim.account_id) as connection:
        _fail(connection, claim, reason, storable(error))


def retry(
    database: Database, claim: Claim, *, error: BaseException | str, retry_after: timedelta | None = None
) -> bool:
    """Put a run back for another attempt, due by the step's ladder, or later when the partner asked for more.

    False: it had no attempt left and failed. Where recoveries are the bound, the first failure is final (E35).

    Raises:
        ClaimLost: the claim is no longer held; nothing was written.
        DatabaseAway: it could not be written now.
    """
    said = storable(error)
    with database.account(claim.account_id) as connection:
        if claim.max_attempts is None or claim.attempts >= claim.max_attempts:
            _fail(connection, claim, ATTEMPTS_EXHAUSTED, said)
            return False
        wait = max(policy(claim.task).wait_after(claim.attempts), retry_after or timedelta(0))
        fencing.refuse_stale(endings.release(connection, claim.job_id, claim.fence, wait=wait, error=said))
        endings.free_slot(connection, claim.job_id)
        _record(connection, claim, "retried", None, said)
        return True


def hand_over(database: Database, claim: Claim, *, progressed: bool) -> bool:
    """Give a claim back, to resume elsewhere from its checkpoints; the attempt is not counted.

    `progressed` False, nothing finished since the claim, counts as an attempt that failed, or as a recovery where the
    step is bounded by those: so nothing hands over for ever. Answers False when that was one too many and it failed.

    Raises:
        ClaimLost: the claim is no longer held; nothing was written.
        DatabaseAway: it could not be written now.
    """
    by_recoveries = claim.max_recoveries is not None
    with database.account(claim.account_id) as connection:
        if not progressed and _is_last(claim):
            reason = RECOVERY_EXHAUSTED if by_recoveries else NO_PROGRESS
            error = "It gave its claim back too often without finishing a pass."
            _fail(connection, claim, reason, error, given_back=by_recoveries)
            return False
        released = endings.release(
            connection,
            claim.job_id,
            claim.fence,
            wait=timedelta(0) if progressed or by_recoveries else policy(claim.task).wait_after(claim.attempts),
            error=None,
            given_back=int(progressed or by_recoveries),
            recovered=int(by_recoveries and not progressed),
        )
        fencing.refuse_stale(released)
        endings.free_slot(connection, claim.job_id)
        _record(connection, claim, "handed_over", None if progressed else NO_PROGRESS, None)
        return True


def cancel(
    database: Database, account_id: UUID, job_id: UUID, *, by: str, reason: str = "canceled_by_operator"
) -> "Cancel":
    """Cancel a job, waiting or running, whoever holds it: what its run writes later is refused (I8).

    Raises:
        NotFound: the account has no such job.
        DatabaseAway: it could not be written now.
    """
    said = storable(f"Canceled by {by}.")
    with database.account(account_id) as connection:
        row = endings.cancel(connection, job_id, reason, said)
        if row is None:
            if endings.state(connection, job_id) is None:
                raise NotFound(f"There is no job {job_id} in this account.")
            return Cancel("already_ended")
        endings.free_slot(connection, job_id)
        attempts.record(
            connection,
            attempts.AttemptRecord(
                id=uuid7(),
                account_id=account_id,
                job_id=job_id,
                fence=row.fence,
                attempt=row.attempts,
                worker_id=row.worker_id,
                outcome="canceled",
                reason=reason,
                error=said,
                started_at=row.started_at,
            ),
        )
        react(connection, row)
        return Cancel("accepted", row.fence - 1)


def react(connection: Connection, job: Ended) -> None:
    """Run what the job's step declared for its end, in the transaction that ends it."""
    on_end = policy(job.task).on_end
    if on_end is not None and job.finished_at is not None:
        on_end(connection, job)


def _complete_alone(
    database: Database,
    claim: Claim,
    reason: str | None,
    result: str | None,
    next_of: Collection[str],
    *,
    suspects: bool,
) -> Claim | None:
    if next_of:
        try:
            completed = claims.complete_and_take(
                database, claim, reason=reason, result=result, tasks=next_of, suspects=suspects
            )
        except DBAPIError as error:
            # What is wrong with the next job is not this one's fault (I12): once more, without it.
            _log.warning("a job was not claimed with the end of another", error=str(error.orig).split("\n", 1)[0])
        else:
            return fencing.refuse_stale(completed).following
    fencing.refuse_stale(
        endings.complete_alone(database, claim.account_id, claim.job_id, claim.fence, reason=reason, result=result)
    )
    return None


def _is_last(claim: Claim) -> bool:
    """Whether one more failure is one too many."""
    if claim.max_recoveries is not None:
        return claim.recoveries >= claim.max_recoveries
    return claim.max_attempts is None or claim.attempts >= claim.max_attempts


def _fail(connection: Connection, claim: Claim, reason: str, error: str, *, given_back: bool = False) -> None:
    row = fencing.refuse_stale(
        endings.fail(connection, claim.job_id, claim.fence, reason=reason, error=error, given_back=int(given_back))
    )
    endings.free_slot(connection, claim.job_id)
    _record(connection, claim, "failed", reason, error)
    react(connection, row)


def _record(
    connection: Connection, claim: Claim, outcome: attempts.Outcome, reason: str | None, error: str | None
) -> None:
    attempts.record(
        connection,
        attempts.AttemptRecord(
            id=uuid7(),
            account_id=claim.account_id,
            job_id=claim.job_id,
            fence=claim.fence,
            attempt=claim.attempts,
            worker_id=claim.worker_id,
            outcome=outcome,
            reason=reason,
            error=error,
            started_at=claim.claimed_at,
        ),
    )
