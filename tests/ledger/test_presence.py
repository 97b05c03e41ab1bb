"""A process is gone when that can be proved; unknown is never gone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ledger import presence
from ledger.presence import provably_gone, this_process

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


def test_this_process_lives() -> None:
    me = this_process()
    assert me.pid == os.getpid()
    assert not provably_gone(me.pid, me.start_ticks)
    assert not provably_gone(me.pid, None)


def test_a_pid_that_nobody_has_is_gone() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert provably_gone(child.pid, 1)
    assert provably_gone(child.pid, None)


@linux
def test_a_pid_that_is_another_process_now_is_gone() -> None:
    me = this_process()
    assert me.start_ticks is not None
    assert provably_gone(me.pid, me.start_ticks - 1)


@linux
def test_a_zombie_is_gone() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.read()  # its end of the pipe closes as it dies
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert provably_gone(child.pid, None)
    child.wait()
    child.stdout.close()


@linux
def test_a_process_of_another_user_is_not_gone() -> None:
    assert not provably_gone(1, None)


@pytest.mark.parametrize("content", ["", "1 (odd", "1 (name) S", "1 (name) S " + "x " * 30])
def test_what_cannot_be_read_proves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str) -> None:
    (tmp_path / "stat").write_text(content)
    monkeypatch.setattr(presence, "Path", lambda _: tmp_path / "stat")
    assert not provably_gone(os.getpid(), 1)


def test_names_with_spaces_and_brackets_are_read_right(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fields = ["S", *map(str, range(4, 22)), "777", "0"]
    (tmp_path / "stat").write_text(f"12 (my (odd) name) {' '.join(fields)}\n")
    monkeypatch.setattr(presence, "Path", lambda _: tmp_path / "stat")
    assert not provably_gone(os.getpid(), 777)
    assert provably_gone(os.getpid(), 778)
