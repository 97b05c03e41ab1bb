"""What follows from the end of a run's job, in the transaction that ends it: the run's row, the mapping's release and
the end of its checkpoints (E2, E8, E30).
"""

from sqlalchemy import Connection

from ledger.ending import RECOVERY_EXHAUSTED, REQUEST_GONE
from ledger.policy import Ended
from schema.enrichment import mappings, passes, runs
from schema.enrichment.runs import EndState, Run

_STATES: dict[str, EndState] = {"done": "Completed", "failed": "Failed", "canceled": "Canceled"}


def release(connection: Connection, ended: Ended) -> None:
    """Copy the job's end to its run and let go of the mapping, if it is still this run's.

    A mapping goes to `Draft` when the run ended well, else back to where it was.
    """
    run = runs.of_job(connection, ended.job_id)
    if run is None or run.state is not None:
        return
    runs.end(
        connection,
        run.id,
        state=_STATES[ended.outcome],
        reason=ended.reason,
        error=_error(run, ended),
        worker_id=ended.worker_id,
    )
    mappings.release(connection, run.mapping_id, run.id, enriched=ended.outcome == "done")
    passes.clear(connection, run.id)


def _error(run: Run, ended: Ended) -> str | None:
    """For a run that was given up: how far it came (E33)."""
    done = f"{run.completed_items} of {run.total_items} items were completed."
    if ended.reason == RECOVERY_EXHAUSTED:
        times = f"{ended.recoveries + 1} times" if ended.recoveries else "once"
        return (
            f"The run lost its worker {times} and is given up: {done} Ask for a new run; if that "
            "happens again, the log of its workers says why."
        )
    if ended.reason == REQUEST_GONE:
        return f"The run is given up, because its stored request is gone: {done} Ask for a new run."
    return ended.error
