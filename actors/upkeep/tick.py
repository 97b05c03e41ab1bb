"""What the tick does, once a minute: each sweep is asked, and knows itself whether its time has come."""

from collections.abc import Callable, Sequence

from actors.upkeep.reap import Reaper
from base import logs
from base.settings import Settings
from schema.engine import Database, current

log = logs.get(__name__)


class Sweeps:
    """The sweeps of this process, in their order."""

    def __init__(self, settings: Settings) -> None:
        self._all: Sequence[Callable[[Database], None]] = (Reaper(settings.enrichment_run_recovery),)

    def __call__(self) -> None:
        """Do what is due. A sweep that fails leaves the others their turn."""
        for sweep in self._all:
            try:
                sweep(current())
            except Exception:
                log.exception("a sweep failed; it is asked again at its next turn")
