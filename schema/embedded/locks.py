"""Locks of the kernel's on files: dropped with their holder, however it dies, and inherited by its children."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Lock:
    """One hold on one file, by `flock`. Not by `lockf`: that is lost when any handle of the file is closed."""

    def __init__(self, path: Path) -> None:
        self._fd: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    @property
    def fd(self) -> int:
        """The descriptor that carries the hold; a child that inherits it holds the lock as well."""
        if self._fd is None:
            raise ValueError("the lock has been released")
        return self._fd

    def shared(self) -> None:
        """Wait until nobody holds it exclusively, then hold it beside others."""
        fcntl.flock(self.fd, fcntl.LOCK_SH)

    def try_exclusive(self) -> bool:
        """Hold it alone, if nobody else holds it right now. A shared hold may be lost in trying."""
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Wait until nobody holds it, and hold it alone for the body."""
        fcntl.flock(self.fd, fcntl.LOCK_EX)
        try:
            yield
        finally:
            self.release()

    def release(self) -> None:
        """Let go. A hold that a child inherited stays the child's."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
