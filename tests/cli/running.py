"""The command line as a person's shell runs it: a process of its own, with an environment of its own."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from base.clock import monotonic
from tests.services.postgres import Clone

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data"

#: What a shell always gives; everything else a test sets.
_SHELL = ("PATH", "HOME", "TMPDIR")


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout."""
        return orjson.loads(self.out)

    @property
    def said(self) -> str:
        """Both streams."""
        return self.out + self.err


def environment(**settings: str) -> dict[str, str]:
    """A shell's environment with these settings and no other of Longhaul's."""
    kept = {name: os.environ[name] for name in _SHELL if name in os.environ}  # noqa: TID251
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", "LC_ALL": "C.UTF-8", **settings}


def on(clone: Clone, **settings: str) -> dict[str, str]:
    """The environment of a command that uses this test's database."""
    return environment(LONGHAUL_DATABASE_URL=clone.url, **settings)


def longhaul(
    *words: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None, seconds: float = 120
) -> Done:
    """Run a command to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "cli", *map(str, words)],
        check=False,
        cwd=cwd,
        env=dict(env if env is not None else environment()),
        capture_output=True,
        text=True,
        timeout=seconds,
        stdin=subprocess.DEVNULL,
    )
    return Done(done.returncode, done.stdout, done.stderr)


class Running:
    """A command that is still running; its lines are collected as they come."""

    def __init__(self, *words: str | Path, env: Mapping[str, str], cwd: Path | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "cli", *map(str, words)],
            cwd=cwd,
            env=dict(env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._lines: dict[str, list[str]] = {"out": [], "err": []}
        self._news = threading.Condition()
        self._readers = [threading.Thread(target=self._read, args=(name,), daemon=True) for name in self._lines]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(ProcessLookupError):  # the command and what it started: they are a session of their own
            os.killpg(self._process.pid, signal.SIGKILL)
        self.ended()

    @property
    def pid(self) -> int:
        """The command's process."""
        return self._process.pid

    @property
    def err(self) -> str:
        """What stderr has so far."""
        with self._news:
            return "".join(self._lines["err"])

    @property
    def out(self) -> str:
        """What stdout has so far."""
        with self._news:
            return "".join(self._lines["out"])

    def wait_for(self, condition: Callable[[], object], seconds: float = 60) -> None:
        """Wait until it holds; looked at whenever the command says something, and now and then."""
        deadline = monotonic() + seconds
        while not condition():
            if monotonic() > deadline or self._process.poll() is not None:
                raise AssertionError(f"waited in vain; the command said:\n{self.out}{self.err}")
            with self._news:
                self._news.wait(0.05)

    def wait_for_words(self, words: str, seconds: float = 60) -> None:
        """Wait until either stream has said so."""
        self.wait_for(lambda: words in self.out + self.err, seconds)

    def interrupt(self) -> None:
        """Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    def terminate(self) -> None:
        """SIGTERM."""
        self._process.terminate()

    def ended(self, seconds: float = 90) -> Done:
        """Wait for its end."""
        code = self._process.wait(seconds)
        for reader in self._readers:
            reader.join(seconds)
        return Done(code, self.out, self.err)

    def _read(self, name: str) -> None:
        stream = self._process.stdout if name == "out" else self._process.stderr
        assert stream is not None
        with stream:
            for line in stream:
                with self._news:
                    self._lines[name].append(line)
                    self._news.notify_all()
