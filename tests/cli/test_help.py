"""Help: it starts with an example, it answers at once, and the documentation lists what there is."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from base.terminal.exits import Exit
from cli.app import build, run
from tests.cli.running import ROOT, environment, longhaul

_PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")

#: What takes a while to import, and what asking for help has no use for.
_HEAVY = ("sqlalchemy", "psycopg", "httpx", "pika", "alembic", "rich", "yaml", "pypdf", "docx", "periodiq")


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, (*path, name))


_ALL = dict(_commands(typer.main.get_command(build())))


@pytest.mark.parametrize("path", _ALL, ids=" ".join)
def test_help_starts_with_an_example(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*path, "--help"]) == Exit.DONE
    first, example = capsys.readouterr().out.splitlines()[:2]
    assert first == "Example:"
    words = re.sub(r"^(\S+=\S+ )*", "", example.strip()).split()
    assert words[0] == "./longhaul"
    assert words[1 : 1 + len(path)] == list(path) or not path


@pytest.mark.parametrize("path", [path for path, command in _ALL.items() if hasattr(command, "commands")], ids=" ".join)
def test_a_noun_alone_is_answered_by_its_help(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(list(path)) == Exit.DONE
    assert "Commands:" in capsys.readouterr().out


@pytest.mark.parametrize(
    "path", [path for path in _ALL if path[:1] in {("jobs",), ("runs",)} and path[1:]], ids=" ".join
)
def test_what_shows_something_can_show_it_as_json(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    run([*path, "--help"])
    assert "--json" in capsys.readouterr().out


def test_asking_for_help_imports_nothing_heavy() -> None:
    script = "import sys; from cli.app import run; run(['--help']); print(*sys.modules, sep='\\n', file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment(), capture_output=True, text=True, check=True
    )
    assert set(_HEAVY) & set(done.stderr.split()) == set()


def test_help_answers_with_settings_that_contradict_each_other() -> None:
    done = longhaul("enrich", "--help", env=environment(LONGHAUL_BROKER__ACK_TIMEOUT="1", LONGHAUL_NO_SUCH="x"))
    assert done.code == Exit.DONE
    assert done.err == ""


def test_the_page_lists_the_exit_codes_and_what_they_mean() -> None:
    table = _PAGE.partition("## Exit codes")[2].partition("\n## ")[0]
    listed = {int(code): meaning for code, meaning in re.findall(r"^\| (\d+) \| (.+) \|$", table, re.MULTILINE)}
    assert listed == {code.value: code.meaning for code in Exit}


def test_the_page_lists_the_commands_there_are() -> None:
    table = _PAGE.partition("| command |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    listed = {name for cell in cells for name in re.findall(r"`([a-z]+(?: [a-z]+)?)", cell)}
    there = {" ".join(path) for path, command in _ALL.items() if not hasattr(command, "commands")}
    assert listed == there


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lis"], "No such command 'lis'"),
        (["jobs", "lst"], "Did you mean 'list'? `./longhaul jobs --help` shows what can be typed."),
        (["enrich"], "Missing argument 'FILE'. `./longhaul enrich --help` shows what can be typed."),
        (["enrich", "a.json", "--no-such"], "No such option: --no-such"),
        (["enrich", "a.json", "--max-tokens", "0"], "--max-tokens"),
        (["jobs", "show", "not-an-id"], "Invalid value for 'ID'"),
        (["jobs", "list", "--state", "odd"], "'odd' is not one of 'pending', 'running'"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == Exit.USAGE
    captured = capsys.readouterr()
    assert said in captured.err
    assert len(captured.err.splitlines()) == 1
    assert captured.out == ""


def test_it_says_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == Exit.DONE
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert capsys.readouterr().out == f"longhaul {version}\n"


def test_completion_offers_the_commands() -> None:
    done = longhaul(env=environment(_LONGHAUL_COMPLETE="complete_bash", COMP_WORDS="longhaul jo", COMP_CWORD="1"))
    assert done.out.split() == ["jobs"]


def test_debug_may_stand_anywhere_but_behind_two_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    run(["jobs", "--debug", "lst"])
    assert "Traceback" in capsys.readouterr().err
    run(["jobs", "lst", "--", "--debug"])
    assert "Traceback" not in capsys.readouterr().err


def test_a_reader_that_goes_away_gets_no_traceback() -> None:
    reader = subprocess.Popen(["true"], stdin=subprocess.PIPE)
    reader.wait(10)
    assert reader.stdin is not None
    with reader.stdin as gone:
        done = subprocess.run(
            [sys.executable, "-m", "cli", "enrich", "--help"],
            env=environment(),
            stdout=gone,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == Exit.BROKEN_PIPE
    assert done.stderr == ""
