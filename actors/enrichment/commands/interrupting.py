"""Ctrl-C while a run is followed: the first asks for a handover, the second ends at once."""

import os
import signal
import threading
from contextlib import AbstractContextManager
from types import FrameType, TracebackType
from typing import Self

from base.terminal.exits import Exit

_SHOW_CURSOR = b"\x1b[?25h"
_STDERR = 2
_AT_ONCE = b"Ended at once. The run stays open: a worker of its lane goes on with it, or the same command.\n"


class Interruption(AbstractContextManager["Interruption"]):
    """Listens to SIGINT and SIGTERM while its block runs; `code` is the exit code of what came."""

    def __init__(self) -> None:
        self.code = Exit.INTERRUPTED
        self._asked = threading.Event()
        self._before: dict[int, signal._HANDLER] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def asked(self) -> bool:
        """Whether somebody wants this to end."""
        return self._asked.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait that long, or until somebody wants this to end; answers which."""
        return self._asked.wait(seconds)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self.code = Exit.TERMINATED if number == signal.SIGTERM else Exit.INTERRUPTED
        if self._asked.is_set():
            # Nothing is lost: the claim is taken back as soon as anybody sees that this process is gone.
            os.write(_STDERR, (_SHOW_CURSOR + b"\n" if os.isatty(_STDERR) else b"") + _AT_ONCE)
            os._exit(self.code)
        self._asked.set()
