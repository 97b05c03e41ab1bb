"""The relay: keeps as many wake-ups in a lane's queue as there are jobs that could run.

Level, not edge: it looks once a second, whatever was published, lost, purged or dead-lettered before, and sends the
difference. A queue that is full enough gets nothing, so a closed gate or a slow worker never makes a storm.
"""

import threading
from collections.abc import Collection, Mapping

from base import logs
from base.errors import LonghaulError
from base.settings import Settings
from broker.wakes import Wakes
from ledger import waking
from schema.engine import Database

log = logs.get(__name__)


class Relay:
    """One thread that tops up the lanes of a process, taking turns with every other process that serves them."""

    def __init__(self, settings: Settings, database: Database, wakes: Wakes, lanes: Collection[str]) -> None:
        self._interval = settings.worker.relay_interval.total_seconds()
        self._target = settings.broker.wake_target
        self._database = database
        self._wakes = wakes
        self._lanes = sorted(lanes)
        self._ended = threading.Event()
        self._complaint = ""
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)

    def start(self) -> None:
        """Begin, with a first look at once."""
        self._thread.start()

    def is_alive(self) -> bool:
        """Whether its thread is there."""
        return self._thread.is_alive()

    def close(self) -> None:
        """End after the look that is under way."""
        self._ended.set()
        self._thread.join()
        self._wakes.close()

    def top_up(self, lane: str) -> int:
        """Look at one lane; the answer is how many wake-ups were sent.

        Raises:
            LonghaulError: database or broker could not be asked.
        """
        waking.promote_due(self._database, lane)
        # Sent while the lane is locked, the one network call inside a transaction (docs/decisions/0019): of two relays
        # that count alike both would send. It is read-only, and holds neither row nor snapshot meanwhile.
        with waking.turn(self._database, lane, limit=self._target) as runnable:
            if not runnable:
                return 0
            missing = difference(runnable, self._wakes.ready(lane))
            if missing:
                self._wakes.send(lane, missing)
            return sum(missing.values())

    def _run(self) -> None:
        while True:
            for lane in self._lanes:
                self._look(lane)
            if self._ended.wait(self._interval):
                return

    def _look(self, lane: str) -> None:
        try:
            self.top_up(lane)
        except LonghaulError as error:
            self._complain(str(error))
        except Exception:
            log.exception("the relay met an error of its own", lane=lane)
        else:
            self._complaint = ""

    def _complain(self, sentence: str) -> None:
        """Say what is wrong once, not once a second."""
        if sentence != self._complaint:
            log.warning("the relay can't top up its lanes", error=sentence)
        self._complaint = sentence


def difference(runnable: Mapping[str, int], ready: int) -> dict[str, int]:
    """What has to be sent so that as many wake-ups wait as jobs could run, whichever task those waiting name."""
    missing = max(0, sum(runnable.values()) - ready)
    wanted: dict[str, int] = {}
    for task, count in runnable.items():
        if taken := min(count, missing):
            wanted[task] = taken
            missing -= taken
    return wanted
