"""What follows from the end of a run's job, in the transaction that ends it: the run's row, the mapping's release and
the end of its checkpoints (E2, E8, E30).
"""

from sqlalchemy import Connection

from ledger.ending import RECOVERY_EXHAUSTED
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
    """For a run that kept losing its worker: how far it came (E33)."""
    if ended.reason != RECOVERY_EXHAUSTED:
        return ended.error
    return (
        f"The run lost its worker {ended.recoveries + 1} times and is given up: {run.completed_items} of "
        f"{run.total_items} items were completed. Ask for a new run; if that happens again, the log of its workers "
        "says why."
    )
