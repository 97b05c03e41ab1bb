"""`wake` announces work at once after a commit; nobody waits for it, and nothing depends on it.

Whoever inserted a job or freed a slot calls it; a thread publishes. What it loses, the relay replaces in a second.
"""

import threading
from collections import Counter, defaultdict

from base import logs
from base.errors import LonghaulError
from broker.wakes import Wakes

#: More than this many of one task are the relay's to send.
_MOST = 1000

#: A connection nobody used for this long is given back; RabbitMQ would close it for want of heartbeats.
_IDLE_SECONDS = 10.0

log = logs.get(__name__)


class Waker:
    """Publishes wake-ups from a thread of its own, those that came meanwhile together."""

    def __init__(self, wakes: Wakes) -> None:
        self._wakes = wakes
        self._wanted: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._changed = threading.Condition()
        self._sending = False
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="wake", daemon=True)
        self._thread.start()

    def wake(self, lane: str, task: str, count: int) -> None:
        """Ask for wake-ups; returns at once."""
        with self._changed:
            wanted = self._wanted[lane]
            wanted[task] = min(wanted[task] + count, _MOST)
            self._changed.notify_all()

    def flush(self, seconds: float) -> bool:
        """Whether everything asked for has been sent, or given up, within this time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._wanted and not self._sending, seconds)

    def close(self, seconds: float = 1.0) -> None:
        """Send what is wanted, and end."""
        self.flush(seconds)
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._wanted and not self._ended:
                    if not self._changed.wait(_IDLE_SECONDS):
                        self._wakes.close()
                if self._ended:
                    self._wakes.close()
                    return
                wanted, self._wanted = self._wanted, defaultdict(Counter)
                self._sending = True
            self._send(wanted)
            with self._changed:
                self._sending = False
                self._changed.notify_all()

    def _send(self, wanted: defaultdict[str, Counter[str]]) -> None:
        for lane, tasks in wanted.items():
            try:
                self._wakes.send(lane, tasks)
            except LonghaulError as error:
                log.warning("wake-ups were not sent; the relay sends others", lane=lane, error=str(error))


_waker: Waker | None = None


def use(waker: Waker | None) -> None:
    """Make it the process's; None: wake-ups are left to the relay of a worker."""
    global _waker  # noqa: PLW0603  one per process, so that a caller deep down need not be handed it
    _waker = waker


def wake(lane: str, task: str, count: int = 1) -> None:
    """Announce that `count` jobs of the task became runnable. Call it after the commit; it neither waits nor raises."""
    if _waker is not None:
        _waker.wake(lane, task, count)
