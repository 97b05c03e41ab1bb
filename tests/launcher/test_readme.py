"""The README's commands as a stranger types them: a fresh clone, an empty environment, no service running."""

import os
import re
import shlex
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.launcher.clones import ROOT
from tests.services.homes import temporary_home

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


def _commands() -> list[str]:
    blocks = re.findall(r"```\w*\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("./longhaul")]


@pytest.fixture(scope="module")
def clone() -> Iterator[Path]:
    """A clone that only its owner may enter, installed."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    with temporary_home() as folder:
        made = folder / "longhaul"
        subprocess.run(["git", "clone", "--quiet", ROOT, made], check=True)
        made.chmod(0o700)
        done = _run(made, "./longhaul --help")
        assert done.returncode == 0, done.stderr
        yield made


def _run(clone: Path, command: str) -> "subprocess.CompletedProcess[str]":
    python = Path(sys.executable).resolve().parent
    return subprocess.run(
        shlex.split(command),
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        cwd=clone,
        env={"PATH": f"{python}:{os.defpath}", "HOME": "/nonexistent"},
    )


def test_the_readme_names_both_commands() -> None:
    commands = _commands()
    assert commands[0].startswith("./longhaul enrich examples/epa-cwa.json")
    assert any(re.fullmatch(r"\./longhaul test\b.*", command) for command in commands)


def test_the_first_command_ends_within_a_minute_with_a_result(clone: Path) -> None:
    folders = [clone, *clone.parents, clone / "examples"]
    before = [(stat.S_IMODE(folder.stat().st_mode), folder.stat().st_uid) for folder in folders]
    began = time.monotonic()
    done = _run(clone, _commands()[0])
    took = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    assert took < 60
    assert "No language model" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert before == [(stat.S_IMODE(folder.stat().st_mode), folder.stat().st_uid) for folder in folders]


def test_the_test_command_runs_where_no_service_does(clone: Path) -> None:
    # A part of the tests, in the clone's own environment: all of them are what runs this one.
    done = _run(clone, "./longhaul test --no-install --rabbitmq none tests/house tests/harness/needs_rabbit.py")
    assert done.returncode == 0, done.stdout
    assert "Left out: 2 tests that need RabbitMQ" in done.stdout
