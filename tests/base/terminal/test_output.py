"""What reaches stdout, for people, for pipes and for scripts."""

import json
import os
import pty
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel

from base.terminal.output import Column, Output
from tests.cli.running import ROOT, environment

_LONG = "a description that is certainly longer than any terminal of eighty columns would ever want to show in one line"


class _Row(NamedTuple):
    number: int
    name: str


class _Model(BaseModel):
    when: timedelta


@dataclass(frozen=True)
class _Whole:
    id: UUID
    rows: tuple[_Row, ...]
    model: _Model
    at: datetime
    path: Path


def test_a_piped_table_is_neither_wrapped_nor_coloured(capsys: pytest.CaptureFixture[str]) -> None:
    Output().table((Column("state", styles={"failed": "red"}), Column("text", fold=True)), [("failed", _LONG)])
    said = capsys.readouterr().out
    assert said.splitlines() == ["state   text", f"failed  {_LONG}"]


def test_numbers_stand_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    Output().table((Column("n", right=True), "name"), [("7", "a"), ("1,200", "b")])
    assert capsys.readouterr().out.splitlines() == ["    n  name", "    7  a", "1,200  b"]


def test_markup_and_escapes_in_a_cell_are_only_text(capsys: pytest.CaptureFixture[str]) -> None:
    Output().table(("name",), [("[bold]x[/bold] \x1b[31m :smile:",)])
    assert capsys.readouterr().out.splitlines()[1] == "[bold]x[/bold] [31m :smile:"


def test_json_is_all_there_is_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output(as_json=True)
    output.say("for people")
    output.table(("a",), [("b",)])
    output.facts([("a", "b")])
    output.note("on stderr")
    output.result({"ok": True})
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"ok": True}
    assert captured.err == "on stderr\n"


def test_without_json_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    Output().result({"ok": True})
    assert capsys.readouterr().out == ""


def test_rows_become_objects(capsys: pytest.CaptureFixture[str]) -> None:
    whole = _Whole(
        UUID(int=7), (_Row(1, "ü"),), _Model(when=timedelta(seconds=90)), datetime(2026, 1, 2, tzinfo=UTC), Path("a/b")
    )
    Output(as_json=True).result([whole])
    (found,) = json.loads(capsys.readouterr().out)
    assert found["id"] == str(UUID(int=7))
    assert found["rows"] == [{"number": 1, "name": "ü"}]
    assert found["model"] == {"when": "PT1M30S"}
    assert found["at"].startswith("2026-01-02T00:00:00")
    assert found["path"] == "a/b"


_SCRIPT = f"""
from base.terminal.output import Column, Output
Output().table((Column("state", styles={{"failed": "red"}}), Column("text", fold=True)), [("failed", {_LONG!r})])
"""


def _on_a_terminal(**settings: str) -> str:
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-c", _SCRIPT],
        cwd=ROOT,
        env=environment(TERM="xterm-256color", COLUMNS="60", **settings),
        stdout=theirs,
        stdin=subprocess.DEVNULL,
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # what Linux says when the other side is closed
            break
        if not part:
            break
        said += part
    os.close(ours)
    assert running.wait(30) == 0
    return said.decode()


def test_on_a_terminal_a_table_fits_and_is_coloured() -> None:
    said = _on_a_terminal()
    assert "\x1b[31mfailed" in said
    assert len(said.splitlines()) > 2


def test_no_color_is_obeyed_and_the_word_remains() -> None:
    said = _on_a_terminal(NO_COLOR="1")
    assert "\x1b[31m" not in said
    assert "failed" in said
    assert max(len(line) for line in said.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()) <= 60
