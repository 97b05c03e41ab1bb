"""Signals: what every process may hear at once and nobody has to. The rows are the truth; a lost signal costs nothing.

Sending one never waits, never raises and never blocks a run: a thread carries it out, with a connection of its own.
"""

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from base import logs

log = logs.get(__name__)

#: Signals that wait to be sent; of more, the oldest are dropped.
WAITING = 1000

Snapshot = dict[str, Any]


class Carrier(Protocol):
    """Takes signals to every process that listens, this one among them."""

    def send(self, body: bytes) -> None:
        """Have it sent soon; returns at once."""
        ...

    def close(self) -> None:
        """Send what waits if that takes no time, and end."""
        ...


_carrier: Carrier | None = None
_subscribers: list[Callable[[Snapshot], None]] = []


def use(carrier: Carrier | None) -> None:
    """Make it the process's; None: signals are dropped."""
    global _carrier  # noqa: PLW0603  one per process, so that a step deep down need not be handed it
    _carrier = carrier


def publish_progress(snapshot: Mapping[str, Any]) -> None:
    """Show how far a run is. Values that JSON has no form for are sent as their text. Never raises."""
    carrier = _carrier
    if carrier is None:
        return
    try:
        carrier.send(json.dumps({"signal": "progress", "snapshot": dict(snapshot)}, default=str).encode())
    except Exception:
        log.exception("a progress snapshot was not sent")


def subscribe(callback: Callable[[Snapshot], None]) -> Callable[[], None]:
    """Call back with each progress snapshot that reaches this process, in a thread of ours; the answer ends it."""
    _subscribers.append(callback)
    return lambda: _subscribers.remove(callback) if callback in _subscribers else None


def heard(body: bytes) -> None:
    """A signal arrived: tell whom it concerns. What can't be read, or is of another version, is dropped."""
    try:
        said = json.loads(body)
        snapshot = said["snapshot"] if said["signal"] == "progress" else None
    except (ValueError, TypeError, KeyError):
        return
    if not isinstance(snapshot, dict):
        return
    for callback in _subscribers:
        try:
            callback(snapshot)
        except Exception:
            log.exception("a subscriber of signals failed")


class LocalCarrier:
    """Signals within this process."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque(maxlen=WAITING)
        self._changed = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="signals", daemon=True)
        self._thread.start()

    def send(self, body: bytes) -> None:
        """Have it heard soon."""
        with self._changed:
            self._waiting.append(body)
            self._changed.notify()

    def close(self) -> None:
        """Let what waits be heard, and end."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join(1.0)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._ended)
                if not self._waiting:
                    return
                body = self._waiting.popleft()
            heard(body)
