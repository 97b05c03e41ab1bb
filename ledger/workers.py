"""Worker processes: they enter, beat, and retire."""

from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

from base.errors import LonghaulError
from base.ids import uuid7
from ledger.policy import declared
from ledger.presence import Process, this_process
from schema.engine import Database
from schema.ledger import attempts, endings, gates, workers

#: A worker that was silent for longer wakes for nothing, and counts for nobody who asks.
ALIVE_WITHIN = timedelta(minutes=3)

#: Reason of an attempt that never began: the answer to the claim was lost.
ORPHANED = "orphaned"


def register(
    database: Database, *, lanes: Collection[str], tasks: Collection[str], process: Process | None = None
) -> UUID:
    """Enter this process, under an id never used before, and give gates that have no size the one their step declares.

    Call it once per process, before its first claim; a restarted one is a new worker.
    """
    process = process or this_process()
    worker_id = uuid7()
    with database.engine() as connection:
        workers.insert(
            connection,
            worker_id=worker_id,
            host=process.host,
            boot_id=process.boot_id,
            pid_namespace=process.pid_namespace,
            pid=process.pid,
            start_ticks=process.start_ticks,
            lanes=sorted(lanes),
            tasks=sorted(tasks),
        )
        for policy in declared().values():
            if policy.gate is not None and policy.task in tasks:
                gates.make(connection, policy.gate, policy.gate_slots)
    return worker_id


def beat(database: Database, worker_id: UUID) -> list[tuple[UUID, int]]:
    """Say that the process lives; then the (job id, fence) of every running job that names it.

    A claim the process holds and that is missing here is lost: its run must stop. One that is here and that the
    process does not hold is an orphan: hand it back.

    Raises:
        LonghaulError: the process was never entered.
        DatabaseAway: it can't be said now: that is unknown, not lost.
    """
    known, held = workers.beat(database, worker_id)
    if not known:
        raise LonghaulError(f"The worker {worker_id} has no row: it was never registered in this database.")
    return held


def release(database: Database, worker_id: UUID, job_id: UUID, fence: int) -> bool:
    """Hand back an orphan: a claim of this worker whose answer never arrived, so that nothing of it was begun.

    Neither an attempt nor a recovery is counted. False: the worker does not hold the job under that fence.
    """
    with database.engine() as connection:
        orphan = workers.holding(connection, worker_id, job_id, fence)
    if orphan is None:
        return False
    with database.account(orphan.account_id) as connection:
        if not endings.release(connection, job_id, fence, wait=timedelta(0), error=None, given_back=1):
            return False
        endings.free_slot(connection, job_id)
        attempts.record(
            connection,
            attempts.AttemptRecord(
                id=uuid7(),
                account_id=orphan.account_id,
                job_id=job_id,
                fence=fence,
                attempt=orphan.attempts,
                worker_id=worker_id,
                outcome="handed_over",
                reason=ORPHANED,
                error=None,
                started_at=orphan.started_at,
            ),
        )
        return True


def retire(database: Database, worker_id: UUID) -> None:
    """Note that the process ended as it should, holding nothing."""
    with database.engine() as connection:
        workers.retire(connection, worker_id)


def lanes_alive(database: Database, lane: str, within: timedelta) -> int:
    """How many worker processes serve the lane and beat within that time."""
    with database.engine() as connection:
        return workers.alive(connection, lane, within)
