"""What the tick sweeps, and how it looks after it could not."""

from datetime import datetime
from typing import Any

import pytest

from actors.upkeep import tick
from actors.upkeep.tick import Sweeps
from base.settings import Settings
from ledger.reaping import clock
from schema.engine import Database, DatabaseAway


class Reaps:
    """A reap that notes how it was asked, and is away when told."""

    def __init__(self) -> None:
        self.watched_since: list[datetime | None] = []
        self.away = False

    def __call__(self, _database: Database, *, limit: int, watched_since: datetime | None) -> list[Any]:
        if self.away:
            raise DatabaseAway("The database can't be used now.")
        assert limit == 50
        self.watched_since.append(watched_since)
        return []


@pytest.fixture
def reaps(monkeypatch: pytest.MonkeyPatch) -> Reaps:
    reaps = Reaps()
    monkeypatch.setattr(tick, "reap", reaps)
    return reaps


def test_the_reap_keeps_its_interval_though_the_tick_comes_each_minute(database: Database, reaps: Reaps) -> None:
    sweeps = Sweeps(Settings())

    for _ in range(3):
        sweeps()

    assert reaps.watched_since == [None]


def test_silence_from_a_time_when_nobody_could_look_is_no_reason(database: Database, reaps: Reaps) -> None:
    sweeps = Sweeps(Settings())
    reaps.away = True
    sweeps()
    reaps.away = False
    before = clock(database)

    sweeps()

    (since,) = reaps.watched_since
    assert since is not None
    assert since >= before
