"""The reaper as the tick calls it: when it sweeps and holds back, whom it tells, what it reports (E31, E32)."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier
from typing import Any
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from actors.upkeep import reap
from actors.upkeep.reap import Reaper
from actors.upkeep.tick import Sweeps
from base.settings import DatabaseLimits, EnrichmentRunRecovery, Settings
from broker import signals
from broker.postgres_signals import PostgresCarrier
from broker.signals import Abort
from ledger import alerting, reaping, running
from ledger.claiming import Claim
from ledger.presence import this_process
from schema.engine import Database, DatabaseAway
from tests.broker.until import until
from tests.ledger.scene import RECOVERED, STALE, Scene, scene_of
from tests.services.postgres import Clone

pytestmark = pytest.mark.usefixtures("long_up")

RECOVERY = EnrichmentRunRecovery()
INTERVAL = RECOVERY.reaper_interval


@pytest.fixture
def scene(database: Database, account_id: UUID, clone: Clone, long_up: None) -> Iterator[Scene]:
    set_up = scene_of(database, account_id, clone)
    yield set_up
    set_up.close()


def _runs(scene: Scene, number: int, *, silent: bool) -> list[Claim]:
    """Runs of a worker of their own, which is silent for too long or not."""
    scene.worker_id = scene.enter()
    claims = [scene.hold(RECOVERED) for _ in range(number)]
    if silent:
        scene.age(scene.worker_id, 2 * STALE)
    return claims


def _gone(scene: Scene) -> Claim:
    """A run of a process that is provably gone."""
    scene.worker_id = scene.enter(process=replace(this_process(), pid=2**22 + 1))
    return scene.hold(RECOVERED)


def _later(scene: Scene, by: timedelta = INTERVAL) -> None:
    """Let time pass for the sweeps."""
    scene.change("UPDATE sweeps SET began_at = began_at - %s, held_back_since = held_back_since - %s", by, by)


def _states(scene: Scene, claims: list[Claim]) -> list[str]:
    return [scene.row(claim.job_id)["state"] for claim in claims]


def _sweep(scene: Scene, reaper: Reaper | None = None) -> None:
    (reaper or Reaper(RECOVERY))(scene.database)


def test_the_tick_sweeps(scene: Scene) -> None:
    claims = _runs(scene, 1, silent=True)
    Sweeps(Settings())()
    assert _states(scene, claims) == ["pending"]


def test_a_sweep_that_fails_is_logged_and_leaves_the_others_their_turn(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweeps = Sweeps(Settings())
    called: list[Database] = []

    def fail(_: Database) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(sweeps, "_all", [fail, called.append])
    sweeps()
    assert called == [scene.database]


def test_the_interval_is_kept_by_all_processes_together(scene: Scene) -> None:
    _sweep(scene)
    claims = _runs(scene, 1, silent=True)
    _sweep(scene)
    _later(scene, INTERVAL - timedelta(seconds=30))
    _sweep(scene)
    assert _states(scene, claims) == ["running"]
    # The tick does not fall on the second.
    _later(scene, timedelta(seconds=27))
    _sweep(scene)
    assert _states(scene, claims) == ["pending"]


def test_of_two_processes_at_once_one_sweeps(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    swept: list[int] = []
    look = reaping.in_flight

    def noted(*given: Any, **more: Any) -> Any:
        swept.append(1)
        return look(*given, **more)

    monkeypatch.setattr(reap, "in_flight", noted)
    together = Barrier(2)

    def tick() -> None:
        together.wait(5)
        _sweep(scene)

    with ThreadPoolExecutor(2) as processes:
        for times in range(1, 11):
            for done in [processes.submit(tick) for _ in range(2)]:
                done.result(10)
            assert len(swept) == times
            _later(scene)


def test_a_slow_but_healthy_run_is_never_taken(scene: Scene) -> None:
    claims = _runs(scene, 1, silent=False)
    scene.change("UPDATE jobs SET started_at = started_at - interval '3 days', created_at = now() - interval '4 days'")
    for _ in range(3):
        _sweep(scene)
        _later(scene)
    running.progress(scene.database, claims[0])


def test_a_batch_bounds_the_gone_and_the_silent_together(scene: Scene) -> None:
    gone = [_gone(scene) for _ in range(2)]
    silent = _runs(scene, 3, silent=True)
    reaper = Reaper(EnrichmentRunRecovery(reaper_batch_size=3))
    _sweep(scene, reaper)
    assert _states(scene, gone) == ["pending"] * 2
    assert sorted(_states(scene, silent)) == ["pending", "running", "running"]


# -- holding back


def test_five_of_nine_at_once_are_the_worlds_fault(scene: Scene) -> None:
    silent, well = _runs(scene, 5, silent=True), _runs(scene, 4, silent=False)
    _sweep(scene)
    assert set(_states(scene, silent + well)) == {"running"}
    (alert,) = alerting.open_alerts(scene.database)
    assert (alert.source, alert.cause, alert.times) == ("reap", "held_back", 1)
    assert "5 of 9 running jobs look abandoned at once" in alert.text


@pytest.mark.parametrize(("silent", "well"), [(5, 5), (4, 0)], ids=["half of them", "few"])
def test_fewer_are_taken_at_once(scene: Scene, silent: int, well: int) -> None:
    claims = _runs(scene, silent, silent=True)
    _runs(scene, well, silent=False)
    _sweep(scene)
    assert set(_states(scene, claims)) == {"pending"}
    assert alerting.open_alerts(scene.database) == []


def test_it_holds_back_for_one_silence_whoever_sweeps_and_then_takes_them(scene: Scene) -> None:
    claims = _runs(scene, 6, silent=True)
    seldom = EnrichmentRunRecovery(reaper_interval=timedelta(minutes=10), reaper_batch_size=4)
    for passed in range(3):
        Reaper(seldom)(scene.database)
        assert set(_states(scene, claims)) == {"running"}, passed
        _later(scene, timedelta(minutes=1))
    Reaper(seldom)(scene.database)
    assert sorted(_states(scene, claims)) == ["pending"] * 4 + ["running"] * 2
    _later(scene, timedelta(minutes=1))
    Reaper(seldom)(scene.database)
    assert sorted(_states(scene, claims)) == ["pending"] * 4 + ["running"] * 2
    (alert,) = alerting.open_alerts(scene.database)
    assert alert.times == 1


def test_sweeps_within_that_time_hold_back_too(scene: Scene) -> None:
    claims = _runs(scene, 6, silent=True)
    often = EnrichmentRunRecovery(reaper_interval=timedelta(minutes=1))
    for passed in range(3):
        Reaper(often)(scene.database)
        assert set(_states(scene, claims)) == {"running"}, passed
        _later(scene, timedelta(minutes=1))
    Reaper(often)(scene.database)
    assert set(_states(scene, claims)) == {"pending"}
    (alert,) = alerting.open_alerts(scene.database)
    assert alert.times == 3


def test_what_is_left_of_a_batch_is_not_held_back_again(scene: Scene) -> None:
    claims = _runs(scene, 12, silent=True)
    reaper = Reaper(EnrichmentRunRecovery(reaper_batch_size=3))
    for _ in range(5):
        _sweep(scene, reaper)
        _later(scene)
    assert set(_states(scene, claims)) == {"pending"}


def test_once_the_world_is_well_it_is_given_time_again(scene: Scene) -> None:
    first = _runs(scene, 5, silent=True)
    _sweep(scene)
    scene.age(scene.worker_id, -2 * STALE)
    _later(scene)
    _sweep(scene)
    scene.age(scene.worker_id, 2 * STALE)
    _later(scene)
    _sweep(scene)
    assert set(_states(scene, first)) == {"running"}


def test_what_is_provably_gone_is_taken_all_the_same(scene: Scene) -> None:
    silent = _runs(scene, 5, silent=True)
    gone = [_gone(scene) for _ in range(2)]
    _sweep(scene)
    assert _states(scene, gone) == ["pending"] * 2
    assert set(_states(scene, silent)) == {"running"}


def test_the_gone_are_no_sign_of_anything(scene: Scene) -> None:
    gone = [_gone(scene) for _ in range(6)]
    silent = _runs(scene, 1, silent=True)
    _sweep(scene)
    assert set(_states(scene, gone + silent)) == {"pending"}
    assert alerting.open_alerts(scene.database) == []


def test_a_database_that_is_slow_to_answer_is_the_worlds_fault(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    claims = _runs(scene, 1, silent=True)
    late = iter((0.0, 5.1, 6.0, 12.0))
    with monkeypatch.context() as slow:
        slow.setattr(reap, "monotonic", lambda: next(late))
        _sweep(scene)
        assert _states(scene, claims) == ["running"]
        (alert,) = alerting.open_alerts(scene.database)
        assert "took 5 s" in alert.text
        _later(scene)
        _sweep(scene)
    assert _states(scene, claims) == ["pending"]


def test_a_database_that_does_not_answer_in_time_is_too(scene: Scene, clone: Clone) -> None:
    claims = _runs(scene, 1, silent=True)
    impatient = Database(clone.url, DatabaseLimits(statement_timeout=timedelta(seconds=0.2)))
    with scene.superuser() as other, other.transaction():
        other.execute("LOCK TABLE jobs")
        for _ in range(3):
            Reaper(RECOVERY)(impatient)
            _later(scene)
    impatient.close()
    (alert,) = alerting.open_alerts(scene.database)
    assert (alert.cause, alert.times) == ("held_back", 3)
    assert _states(scene, claims) == ["running"]
    _sweep(scene)
    assert _states(scene, claims) == ["pending"]


# -- not having been able to look


def test_silence_from_a_time_when_nobody_could_look_is_no_reason(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    claims = _runs(scene, 1, silent=True)
    reaper = Reaper(RECOVERY)

    def away(*_: object, **__: object) -> None:
        raise DatabaseAway("The database can't be used now.")

    with monkeypatch.context() as outage:
        # Between two sweeps, when the tick only asks whether it is time.
        outage.setattr(reap, "take_turn", away)
        _sweep(scene, reaper)
    _sweep(scene, reaper)
    assert _states(scene, claims) == ["running"]
    reaper._watched_since = reaping.clock(scene.database) - STALE - timedelta(seconds=1)
    _later(scene)
    _sweep(scene, reaper)
    assert _states(scene, claims) == ["pending"]


# -- telling and reporting


@pytest.fixture
def aborted(database: Database) -> Iterator[list[Abort]]:
    """Aborts as another process of the same broker hears them."""
    heard: list[Abort] = []
    carrier = PostgresCarrier(database)
    signals.use(carrier)
    end = signals.on_abort(heard.append)
    yield heard
    end()
    signals.use(None)
    carrier.close()


def test_the_last_holder_is_told_by_the_fence_it_holds(scene: Scene, aborted: list[Abort]) -> None:
    _runs(scene, 1, silent=False)
    (claim,) = _runs(scene, 1, silent=True)
    _sweep(scene)
    until(lambda: aborted)
    assert aborted == [(claim.job_id, claim.fence, "taken")]
    assert scene.row(claim.job_id)["fence"] == claim.fence + 1


def test_who_beat_again_before_the_write_is_told_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, aborted: list[Abort]
) -> None:
    (lively,) = _runs(scene, 1, silent=True)
    (silent,) = _runs(scene, 1, silent=True)
    look = reaping.in_flight

    def look_then_beat(*given: Any, **more: Any) -> Any:
        found = look(*given, **more)
        scene.age(lively.worker_id, -2 * STALE)
        return found

    monkeypatch.setattr(reap, "in_flight", look_then_beat)
    _sweep(scene)
    until(lambda: aborted)
    assert aborted == [(silent.job_id, silent.fence, "taken")]
    running.progress(scene.database, lively)


def test_of_the_gone_nobody_is_told_and_the_lane_is_woken_at_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, aborted: list[Abort]
) -> None:
    woken: list[tuple[str, str]] = []
    monkeypatch.setattr(reap, "wake", lambda lane, task: woken.append((lane, task)))
    gone = _gone(scene)
    _runs(scene, 1, silent=True)
    _sweep(scene)
    until(lambda: aborted)
    assert gone.job_id not in {job_id for job_id, _, _ in aborted}
    assert woken == [(gone.lane, RECOVERED)]


def test_a_sweep_reports_in_one_line_how_it_stands(scene: Scene) -> None:
    _runs(scene, 3, silent=False)
    _runs(scene, 1, silent=True)
    given_up = _runs(scene, 1, silent=True)
    scene.change("UPDATE jobs SET recoveries = 2 WHERE id = %s", given_up[0].job_id)
    with capture_logs() as lines:
        _sweep(scene)
    (line,) = [line for line in lines if line["event"] == "abandoned jobs were looked for"]
    assert (line["healthy"], line["taken_back"], line["given_up"]) == (3, 1, 1)
    assert 2 * STALE.total_seconds() <= line["oldest_beat_seconds"] < 2 * STALE.total_seconds() + 60


def test_where_nothing_runs_there_is_nothing_to_report(scene: Scene) -> None:
    with capture_logs() as lines:
        _sweep(scene)
    assert lines == []
