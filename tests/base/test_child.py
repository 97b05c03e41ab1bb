"""The child process in which untrusted bytes are parsed: it answers, or it is gone, and says which."""

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from base import child
from base.errors import BadInput

VICTIMS = "tests.base.child_victims"
AMPLE = timedelta(seconds=30)


def call(name: str, *arguments: object, timeout: timedelta = AMPLE, memory: int = child.MEMORY) -> object:
    return child.run(f"{VICTIMS}:{name}", *arguments, timeout=timeout, memory=memory)


def alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_the_answer_comes_back_whole() -> None:
    arguments: list[object] = ["é", b"\x00\xff" * 500_000, 1, 2.5, None, True, {"a": [1, (2, 3)]}, {"x"}]
    assert call("echo", *arguments) == arguments


def test_it_works_from_many_threads_at_once() -> None:
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda n: call("echo", n), range(8))) == [[n] for n in range(8)]


def test_what_a_library_prints_is_no_part_of_the_answer() -> None:
    assert call("chatter") == "quiet"


def test_a_refusal_arrives_as_it_was_worded() -> None:
    with pytest.raises(BadInput, match=r"^That is no film: it is a book\. Bring the film\.$"):
        call("refuse")


def test_the_environment_holds_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_LLM__API_KEY", "sk-secret")
    seen = call("environment")
    assert isinstance(seen, dict)
    assert set(seen) <= {"LD_LIBRARY_PATH", "LC_CTYPE"}


def test_a_function_that_loops_is_killed_at_its_limit(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    started = time.monotonic()
    with pytest.raises(child.TimedOut, match="longer than 2 s"):
        call("loop", str(pid_file), timeout=timedelta(seconds=2))
    assert time.monotonic() - started < 2 + child.ORPHAN_GRACE_SECONDS  # killed, not left to its own alarm
    assert not alive(int(pid_file.read_text()))


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux only")
def test_a_function_that_eats_memory_fails_alone() -> None:
    with pytest.raises(child.OutOfMemory):
        call("eat", memory=1 << 30)


@pytest.mark.parametrize(
    ("name", "said"), [("crash", "SIGSEGV"), ("leave", "exit code 7"), ("fail", "ZeroDivisionError: a bug of ours")]
)
def test_an_end_without_an_answer_is_told(name: str, said: str) -> None:
    with pytest.raises(child.Crashed, match=said):
        call(name)


def test_an_answer_that_names_code_is_never_run() -> None:
    with pytest.raises(child.Crashed):
        call("trap")


@pytest.mark.skipif(sys.platform != "linux", reason="dies at its alarm elsewhere")
def test_a_child_dies_with_its_parent(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = (
        f"import sys; sys.path.insert(0, {str(child.ROOT)!r})\n"
        "from datetime import timedelta; from base import child\n"
        f"child.run('{VICTIMS}:loop', {str(pid_file)!r}, timeout=timedelta(minutes=10))"
    )
    with subprocess.Popen([sys.executable, "-c", script]) as parent:
        assert wait_until(lambda: pid_file.exists() and pid_file.read_text().isdigit())
        pid = int(pid_file.read_text())
        assert alive(pid)
        parent.kill()
    assert wait_until(lambda: not alive(pid))
