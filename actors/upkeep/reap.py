"""The reaper: the sweep that looks for abandoned jobs of every account, and takes them back (E31 to E33).

look ─ take the provably gone ─ count what runs ─ hold back if that can't be right ─ take the rest ─ report

Whether a job is abandoned its step's policy says; how one is taken back stands in `ledger/reaping.py`.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from base import logs
from base.clock import monotonic
from base.settings import EnrichmentRunRecovery
from broker.signals import publish_abort
from broker.wake import wake
from ledger.alerting import raise_alert
from ledger.policy import declared
from ledger.reaping import InFlight, Reaped, clock, in_flight, reap, reap_gone
from ledger.sweeping import Turn, go_on, hold_back, take_turn
from schema.engine import Database, DatabaseAway

NAME = "reap"

#: The tick does not fall on the second; a sweep due in less than this is done now.
_EARLY = timedelta(seconds=5)

#: So many at once, and more than half of what runs, are rather the world's fault than theirs.
_MANY = 5

#: A database that takes longer to say what runs is too busy for beats to arrive in time.
_SLOW = timedelta(seconds=5)

log = logs.get(__name__)


class Reaper:
    """The reaper of one process. Of all processes one sweeps at a time, and each job is looked at again when taken."""

    def __init__(self, settings: EnrichmentRunRecovery) -> None:
        self._every = max(settings.reaper_interval - _EARLY, timedelta(0))
        self._most = settings.reaper_batch_size
        #: Silence before this moment, by the database's clock, is no reason: we could not look either.
        self._watched_since: datetime | None = None
        self._blind = False

    def __call__(self, database: Database) -> None:
        """Sweep, if it is time. Asks each time it is called, so that no outage of a few minutes goes unnoticed."""
        try:
            if self._blind:
                self._watched_since = clock(database)
                self._blind = False
            turn = take_turn(database, NAME, every=self._every, hold=_hold())
            if turn is not None:
                self._sweep(database, turn)
        except DatabaseAway as error:
            self._blind = True
            log.warning("abandoned jobs could not be looked for", error=str(error))

    def _sweep(self, database: Database, turn: Turn) -> None:
        taken = reap_gone(database, limit=self._most, tell=_tell)
        began = monotonic()
        found = in_flight(database, watched_since=self._watched_since)
        sick = looks_sick(found, timedelta(seconds=monotonic() - began))
        if sick is not None and (turn.held_back_for < _hold() or found is None):
            hold_back(database, NAME)
            _alert(database, sick)
        else:
            if sick is None:
                go_on(database, NAME)
            left = self._most - len(taken)
            taken += reap(database, limit=left, watched_since=self._watched_since, tell=_tell)
        _report(found, taken)


def looks_sick(found: InFlight | None, took: timedelta) -> str | None:
    """Why what was found is rather the world's fault than the jobs', in words; None when it is not."""
    if found is None:
        return "the database did not say in time what runs"
    if took > _SLOW:
        return f"the database took {took.total_seconds():.0f} s to say what runs"
    if found.abandoned >= _MANY and 2 * found.abandoned > found.running:
        return f"{found.abandoned} of {found.running} running jobs look abandoned at once"
    return None


def _hold() -> timedelta:
    """How long a sweep holds back: one silence by which each job that runs would be abandoned."""
    return max((policy.stale_after - _EARLY for policy in declared().values()), default=timedelta(0))


def _alert(database: Database, sick: str) -> None:
    raise_alert(
        database,
        source=NAME,
        cause="held_back",
        severity="warning",
        text=f"Silent jobs are left alone for a while, because {sick}. Look whether the workers reach the database in "
        "time; if it goes on for longer than a silence may be, the jobs are taken back.",
    )


def _tell(taken: Reaped) -> None:
    """Tell who held it that it is lost, by the fence it was held under; where nobody is left, announce it at once.

    Else it is due in two seconds, and the relay announces it then (E31).
    """
    log.warning("an abandoned job was taken back", job=str(taken.job_id), task=taken.task, outcome=taken.outcome)
    if not taken.gone:
        publish_abort(taken.job_id, taken.fence, "taken")
    elif taken.outcome == "pending":
        wake(taken.lane, taken.task)


def _report(found: InFlight | None, taken: Sequence[Reaped]) -> None:
    """One line a sweep that found anything: a slow run is told from a stuck one by it (E32)."""
    given_up = sum(one.outcome == "failed" for one in taken)
    counts = {"taken_back": len(taken) - given_up, "given_up": given_up}
    if found is None:
        log.info("abandoned jobs were looked for", **counts)
    elif found.running or taken:
        beat = None if found.oldest_beat is None else round(found.oldest_beat.total_seconds())
        healthy = found.running - found.abandoned
        log.info("abandoned jobs were looked for", healthy=healthy, oldest_beat_seconds=beat, **counts)
