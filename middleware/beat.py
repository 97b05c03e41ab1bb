"""The beat: one signal of life for the whole process, off the event loop, and what the database says in return.

A job it holds that the database gives to nobody or to another has been taken: its run is stopped. A job the database
gives to it that it does not hold is an orphan, left by a claim whose answer was lost: it is handed back.
"""

import threading
from collections.abc import Collection
from uuid import UUID

from dramatiq import Broker

from base import logs
from base.clock import monotonic
from base.errors import ClaimLost
from broker.process import WorkerProcess
from ledger import workers
from middleware.resident import Resident
from schema.engine import Database, DatabaseAway

log = logs.get(__name__)

#: After a beat that did not arrive the next is tried sooner: two missing ones keep every run from its next pass.
_AGAIN_AFTER = 1 / 6


class Beat(Resident):
    """Beats in a thread of its own, over a connection of its own."""

    def __init__(self, process: WorkerProcess) -> None:
        super().__init__()
        self._process = process
        self._unclaimed: set[tuple[UUID, int]] = set()
        self._ended = threading.Event()
        self._database: Database | None = None
        self._thread: threading.Thread | None = None

    def start(self, broker: Broker) -> None:
        """Begin to beat."""
        self._ended.clear()
        self._database = self._process.database.apart()
        self._thread = threading.Thread(target=self._run, name="beat", daemon=True)
        self._thread.start()
        self._process.vital["beat"] = self._thread.is_alive

    def close(self) -> None:
        """Beat no more."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        if self._database is not None:
            self._database.close()

    def _run(self) -> None:
        interval = self._process.settings.beat_interval.total_seconds()
        wait = interval
        while not self._ended.wait(wait):
            wait = interval if self._beat_safely() else interval * _AGAIN_AFTER

    def _beat_safely(self) -> bool:
        try:
            self.beat(self._database or self._process.database)
        except DatabaseAway as error:
            log.warning("the beat did not arrive", error=str(error))
            return False
        except Exception:
            log.exception("the beat met an error of its own")
            return False
        return True

    def beat(self, database: Database) -> None:
        """Beat once.

        Raises:
            DatabaseAway: it did not arrive; that says nothing about the claims.
        """
        # Read first: what is claimed between the two readings is missing in neither.
        held = self._process.held.all()
        sent_at = monotonic()
        ours = set(workers.beat(database, self._process.worker_id))
        self._process.heard(sent_at)
        for one in held:
            if (one.claim.job_id, one.claim.fence) not in ours:
                one.stop(ClaimLost("The claim is no longer this worker's."))
        self._hand_back(database, {job for job in ours if job not in self._process.held})

    def _hand_back(self, database: Database, unclaimed: Collection[tuple[UUID, int]]) -> None:
        """Hand back what was unclaimed at the beat before too: a claim just made is registered a moment later."""
        for job_id, fence in self._unclaimed & set(unclaimed):
            if workers.release(database, self._process.worker_id, job_id, fence):
                log.warning("an orphan claim was handed back", job=str(job_id))
        self._unclaimed = set(unclaimed)
