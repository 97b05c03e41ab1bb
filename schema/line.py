"""A line between the processes that share a database: what one says all hear, outside every job's transaction."""

import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from schema.engine import Database, Driver

CHANNEL = "longhaul_signals"

#: PostgreSQL takes less than 8,000 bytes.
LONGEST = 7999


class Line:
    """One connection that listens and speaks. Used by one thread; what it says it hears as well."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        driver.execute(f"LISTEN {CHANNEL}")

    def say(self, body: bytes) -> None:
        """Have everybody hear it. Longer than `LONGEST` nothing is sent."""
        if len(body) <= LONGEST:
            self._driver.execute("SELECT pg_notify(%s, %s)", (CHANNEL, body.decode()))

    def listen(self, seconds: float, *, interrupted_by: socket.socket) -> Iterator[bytes]:
        """What was said, waiting this long for it, or until somebody rings."""
        ready, _, _ = select.select([self._driver.fileno(), interrupted_by.fileno()], [], [], seconds)
        if interrupted_by.fileno() in ready:
            interrupted_by.recv(4096)
        for said in self._driver.notifies(timeout=0):
            yield said.payload.encode()


@contextmanager
def line(database: Database) -> Iterator[Line]:
    """Open one.

    Raises:
        DatabaseAway: it can't be reached, or the connection broke meanwhile.
    """
    with database.apart_from_transactions() as driver:
        yield Line(driver)
