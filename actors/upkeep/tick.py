"""What the tick does, once a minute: the sweeps whose time has come."""

from datetime import datetime

from base import logs
from base.clock import monotonic
from base.settings import Settings
from broker.wake import wake
from ledger.reaping import clock, reap
from schema.engine import DatabaseAway, current

log = logs.get(__name__)

#: The tick does not fall on the second; a sweep due in less than this is done now.
_EARLY_SECONDS = 5.0


class Sweeps:
    """The sweeps of this process. Several processes may sweep: each row is re-checked where it is written."""

    def __init__(self, settings: Settings) -> None:
        self._recovery = settings.enrichment_run_recovery
        self._reap_at = 0.0
        #: Silence before this moment, by the database's clock, is no reason: we could not look either.
        self._watched_since: datetime | None = None
        self._blind = False

    def __call__(self) -> None:
        """Do what is due."""
        if monotonic() >= self._reap_at - _EARLY_SECONDS:
            self._reap_at = monotonic() + self._recovery.reaper_interval.total_seconds()
            self._reap()

    def _reap(self) -> None:
        try:
            if self._blind:
                self._watched_since = clock(current())
                self._blind = False
            reaped = reap(current(), limit=self._recovery.reaper_batch_size, watched_since=self._watched_since)
        except DatabaseAway as error:
            self._blind = True
            self._reap_at = 0.0
            log.warning("abandoned jobs could not be looked for", error=str(error))
            return
        for one in reaped:
            log.warning("an abandoned job was taken back", job=str(one.job_id), task=one.task, outcome=one.outcome)
            if one.outcome == "pending":
                wake(one.lane, one.task)
