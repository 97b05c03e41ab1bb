"""Every guard is needed: without it the test that shows it fails, and with it that test passes like all others."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[1]

#: pytest's exit code when tests ran and some failed; a guard or test that is gone gives another.
_FAILED = 1


@pytest.mark.parametrize(("name", "mutant"), MUTANTS.items(), ids=MUTANTS)
def test_without_its_guard_the_test_fails(name: str, mutant: Mutant, request: pytest.FixtureRequest) -> None:
    if mutant.test.startswith("tests/broker"):
        request.getfixturevalue("rabbit_server")
    options = [
        f"{name}={value}" for name in ("--rabbitmq", "--rabbitmqctl") if (value := request.config.getoption(name))
    ]
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-x", "-p", "tests.mutants", "--without", name,
            *options, mutant.test,
        ],
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        cwd=ROOT,
        timeout=150,
    )  # fmt: skip
    assert done.returncode == _FAILED, done.stdout[-3000:] + done.stderr[-1000:]
    assert "1 failed" in done.stdout, done.stdout[-3000:]
