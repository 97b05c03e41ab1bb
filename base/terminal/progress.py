"""A long command's progress, on stderr: a live bar on a terminal, now and then a line elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from base.clock import monotonic
from base.terminal.words import plain, span

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

#: Logs are read later, not watched: one line of progress in this many seconds is enough.
_SECONDS_BETWEEN_LINES = 2.0


class Bar(Protocol):
    """What moves a bar: how many of how many are done, and what is going on now."""

    def update(self, done: int, total: int, words: str) -> None:
        """Show this state; calling with the same one again costs nothing."""


@contextmanager
def bar(title: str) -> Iterator[Bar]:
    """A bar while the block runs; what it last showed stays on the screen."""
    if not sys.stderr.isatty():
        yield _Lines(title)
        return
    from rich.console import Console  # noqa: PLC0415  only a terminal needs it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[words]}", markup=False),
    )
    with Progress(*columns, console=Console(file=sys.stderr, highlight=False), redirect_stdout=False) as progress:
        yield _Live(progress, progress.add_task(title, total=None, words=""))


class _Live:
    def __init__(self, progress: "Progress", task: "TaskID") -> None:
        self._progress, self._task = progress, task

    def update(self, done: int, total: int, words: str) -> None:
        self._progress.update(self._task, completed=done, total=total or None, words=plain(words))


class _Lines:
    def __init__(self, title: str) -> None:
        self._title = title
        self._began = monotonic()
        self._shown = ""
        self._shown_at = -_SECONDS_BETWEEN_LINES

    def update(self, done: int, total: int, words: str) -> None:
        state = f"{self._title}  {done}/{total or '?'}  {plain(words)}".rstrip()
        finished = bool(total) and done == total
        if state == self._shown or (not finished and monotonic() - self._shown_at < _SECONDS_BETWEEN_LINES):
            return
        self._shown, self._shown_at = state, monotonic()
        elapsed = span(timedelta(seconds=monotonic() - self._began))
        sys.stderr.write(f"{state}  {elapsed}\n")
        sys.stderr.flush()
