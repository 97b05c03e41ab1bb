"""Signals: what every process may hear at once and nobody has to. The rows are the truth; a lost signal costs nothing.

Sending one never waits, never raises and never blocks a run: a thread carries it out, with a connection of its own.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, get_args
from uuid import UUID

from base import logs

log = logs.get(__name__)

#: Signals that wait to be sent; of more, the oldest are dropped.
WAITING = 1000

T = TypeVar("T")
Snapshot = dict[str, Any]
Why = Literal["canceled", "taken"]


class Abort(NamedTuple):
    """Whoever holds the job under this fence has to stop. `why`: it was canceled, or taken back from a lost worker."""

    job_id: UUID
    fence: int
    why: Why


class Carrier(Protocol):
    """Takes signals to every process that listens, this one among them."""

    def send(self, body: bytes) -> None:
        """Have it sent soon; returns at once."""
        ...

    def is_alive(self) -> bool:
        """Whether the thread that carries them is there."""
        ...

    def close(self) -> None:
        """Send what waits if that takes no time, and end."""
        ...


_carrier: Carrier | None = None
_watchers: list[Callable[[Snapshot], None]] = []
_stoppers: list[Callable[[Abort], None]] = []
_wakers: list[Callable[[str, Mapping[str, int]], None]] = []


def use(carrier: Carrier | None) -> None:
    """Make it the process's; None: signals are dropped."""
    global _carrier  # noqa: PLW0603  one per process, so that a step deep down need not be handed it
    _carrier = carrier


def publish_progress(snapshot: Mapping[str, Any]) -> None:
    """Show how far a run is. Values that JSON has no form for are sent as their text. Never raises."""
    _send({"signal": "progress", "snapshot": dict(snapshot)})


def publish_abort(job_id: UUID, fence: int, why: Why) -> None:
    """Have the run stopped at once in whichever process holds that fence. Call it after the commit. Never raises."""
    _send({"signal": "abort", "job": job_id, "fence": fence, "why": why})


def publish_wake(lane: str, tasks: Mapping[str, int]) -> None:
    """Where there is no broker between the processes: this many jobs of each task became runnable. Never raises."""
    _send({"signal": "wake", "lane": lane, "tasks": dict(tasks)})


def subscribe(callback: Callable[[Snapshot], None]) -> Callable[[], None]:
    """Call back with each progress snapshot that reaches this process, in a thread of ours; the answer ends it."""
    return _among(_watchers, callback)


def on_abort(callback: Callable[[Abort], None]) -> Callable[[], None]:
    """Call back with each abort that reaches this process, in a thread of ours; the answer ends it."""
    return _among(_stoppers, callback)


def on_wake(callback: Callable[[str, Mapping[str, int]], None]) -> Callable[[], None]:
    """Call back with each wake-up that comes as a signal; the answer ends it."""
    return _among(_wakers, callback)


def heard(body: bytes) -> None:
    """A signal arrived: tell whom it concerns. What can't be read, or is of another version, is dropped."""
    try:
        said = json.loads(body)
        match said["signal"]:
            case "progress":
                _tell(_watchers, dict(said["snapshot"]))
            case "abort" if said["why"] in get_args(Why):
                _tell(_stoppers, Abort(UUID(said["job"]), int(said["fence"]), said["why"]))
            case "wake":
                _tell(_wakers, str(said["lane"]), {str(task): int(count) for task, count in said["tasks"].items()})
    except (ValueError, TypeError, KeyError, AttributeError):
        log.debug("a signal could not be read")


def _send(signal: Mapping[str, Any]) -> None:
    carrier = _carrier
    if carrier is None:
        return
    try:
        carrier.send(json.dumps(signal, default=str).encode())
    except Exception:
        log.exception("a signal was not sent", signal=signal["signal"])


def _tell(callbacks: Iterable[Callable[..., None]], *signal: object) -> None:
    for callback in tuple(callbacks):
        try:
            callback(*signal)
        except Exception:
            log.exception("a subscriber of signals failed")


def _among(callbacks: list[T], callback: T) -> Callable[[], None]:
    callbacks.append(callback)
    return lambda: callbacks.remove(callback) if callback in callbacks else None
