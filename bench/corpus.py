"""Runs `enrich` over a folder of API definitions, one after the other as a person would, and prints a table.

    python bench/corpus.py DIR [--refused NAME]... [--limit SECONDS]

Definitions are the folder's `.json`, `.yaml` and `.yml` files; `ref-*` are dictionaries and are passed over. The
offline model answers, on an embedded database of the bench's own. Exit code 1 when a file is refused that should not
be, taken that should be refused, or ends otherwise than with suggestions or the stated reason `nothing_to_apply`.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from actors.enrichment.definition import parse  # noqa: E402
from base.errors import BadInput  # noqa: E402
from tests.services.homes import temporary_home  # noqa: E402

#: What a folder of real definitions may hold that is to be refused.
REFUSED = "yamlbomb-malicious.yaml"
_SUFFIXES = (".json", ".yaml", ".yml")
_DONE, _FAILED, _USAGE = 0, 1, 2
_NOTHING = "nothing_to_apply"
_MEGABYTE = 1_000_000
_COLUMNS = ("file", "operations", "fields", "not asked", "chunks", "suggestions", "seconds", "peak MB", "end")


@dataclass(frozen=True)
class Ran:
    """One run of the command: its exit code, what it said, how long it took and how much memory it needed."""

    code: int
    out: str
    err: str
    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Row:
    """One line of the table; `wrong` says what should have been otherwise."""

    name: str
    ran: Ran
    end: str
    figures: dict[str, int] = field(default_factory=dict)
    wrong: str = ""

    def cells(self) -> Iterator[str]:
        """As the columns want them; what a refused file has no figures for stays empty."""
        yield self.name
        for column in _COLUMNS[1:6]:
            yield f"{self.figures[column]:,}" if column in self.figures else ""
        yield f"{self.ran.seconds:.1f}"
        yield f"{self.ran.peak_bytes / _MEGABYTE:,.0f}"
        yield f"**{self.end}: {self.wrong}**" if self.wrong else self.end


def judged(path: Path, ran: Ran, refused: Sequence[str]) -> Row:
    """How one file ended, and whether it should have; `refused` are the names of those that must not be taken."""
    if ran.code == _USAGE:
        return Row(path.name, ran, "refused", wrong="" if path.name in refused else ran.err.strip())
    try:
        run = json.loads(ran.out)["run"]
    except ValueError:
        return Row(path.name, ran, f"exit code {ran.code}", wrong=ran.err.strip()[-300:] or "it said nothing")
    counts: dict[str, int] = run["counts"]
    suggestions = sum(count for name, count in counts.items() if name in run["targets"])
    end = run["reason"] or ("done" if run["state"] == "Completed" else run["state"])
    wrong = ""
    if path.name in refused:
        wrong = "it should have been refused"
    elif end != _NOTHING and (run["state"] != "Completed" or not suggestions):
        wrong = run["error"] or f"{run['state']} with {suggestions} suggestions"
    return Row(path.name, ran, end, _figures(path, run, suggestions), wrong)


def _figures(path: Path, run: dict[str, Any], suggestions: int) -> dict[str, int]:
    operations = parse(path.read_bytes(), path.name).operations
    return {
        "operations": len(operations),
        "fields": sum(len(one.inputs) + len(one.outputs) + one.cut for one in operations),
        "not asked": run["counts"].get("not_asked", 0),
        "chunks": run["total_items"] - 1,  # the other one is the overview pass
        "suggestions": suggestions,
    }


class CommandLine:
    """Runs `enrich` on a database of its own below `folder`, each run for at most `limit` seconds."""

    def __init__(self, folder: Path, limit: float) -> None:
        self._folder = folder
        self._limit = limit

    def enrich(self, path: Path) -> Ran:
        """One run of the command over one file."""
        out = self._folder / "out" / path.name
        command = [sys.executable, "-m", "cli", "enrich", str(path), "--json", "--out", str(out)]
        told, complained = self._folder / "stdout", self._folder / "stderr"
        started = time.monotonic()
        with told.open("wb") as stdout, complained.open("wb") as stderr:
            process = subprocess.Popen(command, cwd=ROOT, env=self._environment(), stdout=stdout, stderr=stderr)
            timer = threading.Timer(self._limit, process.kill)
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)  # the only call that tells the peak of this child alone
            process.returncode = os.waitstatus_to_exitcode(status)
            timer.cancel()
        return Ran(
            code=process.returncode,
            out=told.read_text("utf-8"),
            err=complained.read_text("utf-8"),
            seconds=time.monotonic() - started,
            peak_bytes=usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        )

    def _environment(self) -> dict[str, str]:
        return {"PATH": "/usr/bin:/bin", "LONGHAUL_HOME": str(self._folder / "home")}


def definitions(folder: Path) -> list[Path]:
    """The definitions in a folder, by name."""
    return sorted(
        path for path in folder.iterdir() if path.suffix.lower() in _SUFFIXES and not path.name.startswith("ref-")
    )


def line(cells: Iterator[str] | Sequence[str]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(' '.join(cell.split()) for cell in cells)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the folder; answers the exit code."""
    parser = argparse.ArgumentParser(description="Run `enrich` over a folder of API definitions.")
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--refused", action="append", metavar="NAME", help=f"a file to be refused (default: {REFUSED})")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="longest run of one file")
    wish = parser.parse_args(arguments)
    paths = definitions(wish.folder)
    if not paths:
        print(f"No .json, .yaml or .yml file in {wish.folder}.", file=sys.stderr)
        return _USAGE
    print(f"{platform.platform()}, {os.cpu_count()} CPUs, Python {platform.python_version()}\n")
    print(line(_COLUMNS), line(["---", *["---:"] * 7, "---"]), sep="\n")
    wrong = 0
    with temporary_home() as temporary:
        command = CommandLine(temporary, wish.limit)
        for path in paths:
            row = judged(path, command.enrich(path.resolve()), wish.refused or [REFUSED])
            print(line(row.cells()), flush=True)
            wrong += bool(row.wrong)
    print(f"\n{len(paths)} definitions, {wrong} ended otherwise than they should.")
    return _FAILED if wrong else _DONE


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (BadInput, OSError) as error:
        sys.exit(str(error))
