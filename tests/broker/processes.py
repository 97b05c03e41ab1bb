"""Real worker processes: `dramatiq`, as an operator starts it."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tests.broker.until import until

ROOT = Path(__file__).resolve().parents[2]
READY = "Worker process is ready for action."


class WorkerUnderTest:
    """One `dramatiq` command with its worker process, or another program of that kind."""

    def __init__(self, log: Path, env: Mapping[str, str], *arguments: str, program: str = "dramatiq") -> None:
        self._log = log
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                [Path(sys.executable).parent / program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, **env},  # noqa: TID251  the child's, with what the session made of it
                cwd=ROOT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The command's process, and the group of all its processes."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Whether the command runs."""
        return self._process.poll() is None

    @property
    def said(self) -> str:
        """All it has logged."""
        return self._log.read_text()

    def ready(self) -> "WorkerUnderTest":
        """Wait until it works."""
        until(lambda: READY in self.said or self._process.poll() is not None, 60)
        assert READY in self.said, self.said
        return self

    def terminate(self) -> None:
        """What an orchestrator does."""
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """What a crash does: command and worker process at once."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # start_new_session: the group is this command's alone
        self._process.wait()

    def wait(self, seconds: float = 30.0) -> int:
        """Its exit code, once it has ended."""
        return self._process.wait(seconds)
