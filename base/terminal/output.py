"""Where a command's words go: results to stdout, as text or as JSON; notes, warnings and progress to stderr.

On a terminal tables fit its width; piped they are as wide as they are, never wrapped and never coloured.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, TextIO

import typer

from base.terminal.tables import Column, render
from base.terminal.words import plain

#: State is never said by colour alone: the word stands in the cell, the style only underlines it.
STATE_STYLES: Mapping[str, str] = {
    "running": "cyan",
    "Processing": "cyan",
    "failed": "red",
    "Failed": "red",
    "wrong": "red",
    "partial": "yellow",
    "warning": "yellow",
    "canceled": "strike",
    "Canceled": "strike",
    "done": "dim",
    "Completed": "dim",
}

__all__ = ["STATE_STYLES", "Column", "Json", "Output"]

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]


class Output:
    """One command's way to speak. With `as_json` only `result` reaches stdout."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json

    def note(self, text: str = "") -> None:
        """A line for the person who watches; on stderr."""
        _write(sys.stderr, text)

    def say(self, text: str = "") -> None:
        """A line of the result, for people; nothing under `--json`."""
        if not self.as_json:
            _write(sys.stdout, text)

    def result(self, value: Any) -> None:
        """The result for scripts: one JSON document on stdout, nothing without `--json`.

        Dataclasses, named tuples and pydantic models become objects; times and durations are ISO 8601.
        """
        if self.as_json:
            from pydantic_core import to_json  # noqa: PLC0415  only some commands print JSON

            _write(sys.stdout, to_json(_named(value), indent=2).decode())

    def table(self, columns: Sequence[Column | str], rows: Sequence[Sequence[str]]) -> None:
        """Rows under their headings, on stdout; nothing under `--json`."""
        if not self.as_json:
            for line in render([_column(column) for column in columns], rows):
                _write(sys.stdout, line)

    def facts(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Names and values, one a line, the values under each other."""
        if self.as_json or not pairs:
            return
        width = max(len(name) for name, _ in pairs)
        for name, value in pairs:
            _write(sys.stdout, f"{name.ljust(width)}  {plain(value)}".rstrip())


def _named(value: Any) -> Any:
    """Rows as objects with names: a named tuple would become a bare list."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _named(inner) for name, inner in value._asdict().items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _named(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {name: _named(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_named(inner) for inner in value]
    return value


def _column(column: Column | str) -> Column:
    return column if isinstance(column, Column) else Column(column)


def _write(stream: TextIO, text: str) -> None:
    stream.write(text + "\n")
    stream.flush()
