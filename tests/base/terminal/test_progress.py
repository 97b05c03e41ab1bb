"""Progress where nobody watches: lines, not too many, and always the last one."""

import pytest

from base.terminal import progress
from base.terminal.progress import bar


class _Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    stopped = _Clock()
    monkeypatch.setattr(progress, "monotonic", stopped)
    return stopped


def test_lines_come_at_most_every_two_seconds_and_say_the_time(
    clock: _Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with bar("enriching") as shown:
        shown.update(0, 0, "0 tokens")
        shown.update(1, 4, "10 tokens")
        clock.seconds += 3
        shown.update(2, 4, "20 tokens")
    assert capsys.readouterr().err.splitlines() == ["enriching  0/?  0 tokens  0 s", "enriching  2/4  20 tokens  3 s"]


def test_the_last_line_is_always_said(clock: _Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with bar("enriching") as shown:
        shown.update(3, 4, "a")
        shown.update(4, 4, "b")
    assert capsys.readouterr().err.splitlines()[-1] == "enriching  4/4  b  0 s"


def test_the_same_state_is_said_once(clock: _Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with bar("enriching") as shown:
        for _ in range(5):
            clock.seconds += 3
            shown.update(1, 4, "a")
    assert len(capsys.readouterr().err.splitlines()) == 1
