"""Processes that use an embedded server, started and ended one by one."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from schema.embedded.locks import Lock

_ROOT = Path(__file__).resolve().parent.parent.parent

_USE = """
import sys
from pathlib import Path
from schema.embedded import attach
server = attach(Path(sys.argv[1]), durable=False)
print((server.place.data / "postmaster.pid").read_text().split()[0], flush=True)
sys.stdin.readline()
server.close()
"""


class User:
    """One process that attaches, says which server it got, and leaves when told."""

    def __init__(self, home: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _USE, str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
        )

    def server(self) -> int:
        """The pid of the server it uses, once it has attached."""
        assert self._process.stdout
        return int(self._process.stdout.readline())

    def leave(self) -> None:
        """End as a process should."""
        self._process.communicate("\n", timeout=60)
        assert self._process.returncode == 0

    def kill(self) -> None:
        """End without a chance to say so."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.kill()


def alive(pid: int) -> bool:
    """Whether this process runs; one that has ended and waits for its parent to notice does not."""
    try:
        return Path("/proc", str(pid), "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_down(home: Path) -> bool:
    """Whether no process of the home's server is left."""
    look = Lock(home / "postgres" / "serving")
    try:
        return look.try_exclusive()
    finally:
        look.release()


def keeper_of(server: int) -> int:
    """The pid of the process that keeps a server."""
    return int(Path("/proc", str(server), "stat").read_text().rsplit(")", 1)[1].split()[1])


def kill(pid: int) -> None:
    """SIGKILL."""
    os.kill(pid, signal.SIGKILL)


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for a condition, and fail when it doesn't come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@contextmanager
def users(home: Path, count: int) -> Iterator[list[User]]:
    """Several processes that attach at the same moment."""
    started = [User(home) for _ in range(count)]
    try:
        yield started
    finally:
        for user in started:
            user.__exit__()
