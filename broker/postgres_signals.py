"""Signals over PostgreSQL, where there is no other broker: several processes may share an embedded database."""

import socket
import threading
from collections import deque
from collections.abc import Mapping

from base import logs
from broker import signals
from broker.waits import waits
from schema.engine import Database, DatabaseAway
from schema.line import line

#: How often the connection looks up when nothing comes.
_LOOK_SECONDS = 1.0

log = logs.get(__name__)


class PostgresCarrier:
    """Sends and hears signals in one thread, over a connection of its own that comes back when it was lost."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: deque[bytes] = deque(maxlen=signals.WAITING)
        self._ended = threading.Event()
        self._waits = waits()
        self._bell, self._ear = socket.socketpair()
        self._bell.settimeout(0)
        self._thread = threading.Thread(target=self._run, name="signals", daemon=True)
        self._thread.start()

    def send(self, body: bytes) -> None:
        """Have it sent soon."""
        self._waiting.append(body)
        self._look_up()

    def is_alive(self) -> bool:
        """Whether the thread that carries them is there."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Send what waits, and end."""
        self._ended.set()
        self._look_up()
        self._thread.join(2 * _LOOK_SECONDS)

    def _run(self) -> None:
        with self._bell, self._ear:
            while True:
                try:
                    self._carry()
                except DatabaseAway as error:
                    log.info("signals do not travel", error=str(error))
                if self._ended.wait(next(self._waits)):
                    return

    def _carry(self) -> None:
        """Send and hear until the end, or until the connection is lost."""
        with line(self._database) as open_line:
            self._waits = waits()
            while self._waiting or not self._ended.is_set():
                while self._waiting:
                    open_line.say(self._waiting.popleft())
                for body in open_line.listen(_LOOK_SECONDS, interrupted_by=self._ear):
                    signals.heard(body)

    def _look_up(self) -> None:
        """Wake the thread that services the connection; with the bell full it is about to wake."""
        try:
            self._bell.send(b"!")
        except OSError:
            log.debug("nobody is there to look up")


class SignalWakes:
    """`Wakes` of a process without a worker, for those of the others on its database."""

    def ready(self, _lane: str) -> int:
        """Nobody can say: each process has queues of its own."""
        return 0

    def send(self, lane: str, tasks: Mapping[str, int]) -> None:
        """Tell them all; whoever serves the lane takes it up."""
        signals.publish_wake(lane, tasks)

    def close(self) -> None:
        """There is nothing to let go of."""
