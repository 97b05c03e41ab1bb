"""The reap: runs whose worker is gone, silent or hung are taken back, or failed when that happened too often.

Age alone is never a reason (I9): a run that is long, with a worker that beats and passes that finish, is healthy.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeVar
from uuid import UUID

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from base.ids import uuid7
from base.logs import get
from ledger.ending import RECOVERY_EXHAUSTED, REQUEST_GONE, react
from ledger.policy import Policy, declared, policy
from ledger.presence import Process, provably_gone, this_process
from schema.away import took_too_long
from schema.engine import Database, DatabaseAway
from schema.ledger import attempts, endings, reaping, workers
from schema.ledger.reaping import InFlight

__all__ = ["InFlight", "Reaped", "clock", "in_flight", "reap", "reap_gone"]

T = TypeVar("T")

#: A run that was taken is due so much later: its last holder, should it still run, is told before the next one begins.
TOLD_WITHIN = timedelta(seconds=2)

_log = get(__name__)


@dataclass(frozen=True)
class Reaped:
    """A run that was taken back. `fence` is the one its last holder has: what to abort, should it still run.

    `gone`: its holder is provably gone, so there is nobody to be told, and the run is due at once.
    """

    job_id: UUID
    account_id: UUID
    task: str
    lane: str
    fence: int
    outcome: Literal["pending", "failed"]
    gone: bool


#: Gets each run that was taken back, after the commit that took it.
Told = Callable[[Reaped], None]


def _nobody(_: Reaped) -> None:
    """Where who takes a run back tells nobody."""


def in_flight(
    database: Database, *, watched_since: datetime | None = None, observer: Process | None = None
) -> InFlight | None:
    """What runs and how much of it looks abandoned, leaving out what provably gone processes held.

    None: the database took longer to say so than a statement may.

    Raises:
        DatabaseAway: it can't be asked now.
    """
    gone = _gone(database, observer or this_process())

    def look(connection: Connection) -> InFlight | None:
        return reaping.in_flight(connection, _patience(), gone=gone, watched_since=watched_since)

    return _in_time(database, look)


def reap(
    database: Database,
    *,
    limit: int = 50,
    watched_since: datetime | None = None,
    observer: Process | None = None,
    tell: Told = _nobody,
) -> list[Reaped]:
    """Take back abandoned runs of the tasks this process knows, each inside its own account (E31).

    Abandoned is a run whose worker's beat is older than its `stale_after`, whose progress is older than its
    `stall_after`, or whose worker is provably gone. `watched_since`: silence before it does not count; give the end
    of the sweep's own last failed query by the database's `clock`, so that an outage ages nobody.

    Raises:
        DatabaseAway: it can't be asked now.
    """
    gone = _gone(database, observer or this_process())
    reaped: list[Reaped] = []
    seen: set[UUID] = set()
    # Those that can't be taken back stay where they are: without another look a batch of them would hide the rest.
    while wanted := limit - len(reaped):
        with database.engine() as connection:
            found = reaping.suspicious(
                connection,
                _patience(),
                gone=gone,
                watched_since=watched_since,
                passed_over=seen,
                limit=wanted,
            )
        reaped += _take_back_all(database, found, gone, watched_since, tell)
        if len(found) < wanted:
            break
        seen.update(suspect.job_id for suspect in found)
    return reaped


def clock(database: Database) -> datetime:
    """The database's time: the first successful answer after a failed look is the next sweep's `watched_since`."""
    with database.engine(read_only=True) as connection:
        return reaping.clock(connection)


def reap_gone(
    database: Database, *, limit: int = 50, observer: Process | None = None, tell: Told = _nobody
) -> list[Reaped]:
    """Take back only what provably gone processes of this machine held: recovery need not wait for the sweep (E27)."""
    gone = _gone(database, observer or this_process())
    if not gone:
        return []
    found = _in_time(database, lambda connection: reaping.held_by(connection, gone, list(declared()), limit))
    return _take_back_all(database, found or [], gone, None, tell)


def _patience() -> reaping.Patience:
    return [(known.task, known.stale_after, known.stall_after) for known in declared().values()]


def _gone(database: Database, observer: Process) -> list[UUID]:
    if observer.boot_id is None or observer.pid_namespace is None:
        return []
    boot_id, pid_namespace = observer.boot_id, observer.pid_namespace
    neighbours = _in_time(database, lambda connection: workers.neighbours(connection, boot_id, pid_namespace))
    return [n.worker_id for n in neighbours or [] if provably_gone(n.pid, n.start_ticks)]


def _in_time(database: Database, look: Callable[[Connection], T]) -> T | None:
    """What the look says; None where the database takes longer to answer than a statement may: nothing is known."""
    try:
        with database.engine(read_only=True) as connection:
            return look(connection)
    except DBAPIError as error:
        if not took_too_long(error.orig):
            raise
        _log.warning("abandoned jobs could not be looked for in time")
        return None


def _take_back_all(
    database: Database,
    found: Collection[reaping.Suspect],
    gone: Collection[UUID],
    watched_since: datetime | None,
    tell: Told,
) -> list[Reaped]:
    reaped = []
    for suspect in found:
        try:
            taken = _take_back(database, suspect, policy(suspect.task), gone, watched_since)
        except DatabaseAway:
            raise
        except Exception:  # noqa: BLE001
            # One row whose reaction fails costs that row only (I12): the next sweep tries it again.
            _log.exception("a run could not be taken back", job=str(suspect.job_id), task=suspect.task)
            continue
        if taken is not None:
            reaped.append(taken)
            # One after the other: what the first of many lost must not wait for the last.
            tell(taken)
    return reaped


def _take_back(
    database: Database,
    suspect: reaping.Suspect,
    declared: Policy,
    gone: Collection[UUID],
    watched_since: datetime | None,
) -> Reaped | None:
    with database.account(suspect.account_id) as connection:
        taken = reaping.take_back(
            connection,
            suspect,
            stale_after=declared.stale_after,
            stall_after=declared.stall_after,
            gone=gone,
            watched_since=watched_since,
            told_within=TOLD_WITHIN,
            exhausted=RECOVERY_EXHAUSTED,
            request_gone=REQUEST_GONE,
        )
        if taken is None:
            return None
        job = taken.job
        endings.free_slot(connection, job.job_id)
        attempts.record(
            connection,
            attempts.AttemptRecord(
                id=uuid7(),
                account_id=job.account_id,
                job_id=job.job_id,
                fence=suspect.fence,
                attempt=taken.attempt,
                worker_id=taken.worker_id,
                outcome="reaped",
                reason=job.reason,
                error=job.error,
                started_at=taken.started_at,
            ),
        )
        react(connection, job)
    return Reaped(
        job_id=job.job_id,
        account_id=job.account_id,
        task=job.task,
        lane=job.lane,
        fence=suspect.fence,
        outcome="failed" if job.outcome == "failed" else "pending",
        gone=taken.gone,
    )
