"""The write that takes a run back: whom it still finds, when the run is due again, and who is told (E31 to E33)."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection

from base.settings import DatabaseLimits
from ledger import reaping, running, waking
from ledger.claiming import Claim
from ledger.presence import this_process
from ledger.reaping import Reaped
from schema.engine import Database
from schema.ledger import reaping as rows
from tests.ledger.scene import GATED, LANE, RECOVERED, STALE, STALL, TRIED, Reactions, Scene
from tests.services.postgres import Clone

pytestmark = pytest.mark.usefixtures("long_up")

MISSING_PID = 2**22 + 1


def _silent(scene: Scene, task: str = RECOVERED, **options: Any) -> Claim:
    """A run of a worker of its own, which is silent for too long."""
    scene.worker_id = scene.enter()
    claim = scene.hold(task, **options)
    scene.age(claim.worker_id, 2 * STALE)
    return claim


def _gone(scene: Scene, task: str = RECOVERED) -> Claim:
    """A run of a worker whose process is provably gone."""
    scene.worker_id = scene.enter(process=replace(this_process(), pid=MISSING_PID))
    return scene.hold(task)


def _due_in(scene: Scene, job_id: UUID) -> float:
    (row,) = scene.look("SELECT extract(epoch FROM due_at - clock_timestamp()) AS s FROM jobs WHERE id = %s", job_id)
    return float(row["s"])


def test_a_silent_worker_is_told_before_the_next_delivery(scene: Scene) -> None:
    claim = _silent(scene)
    (reaped,) = reaping.reap(scene.database)
    assert 1 < _due_in(scene, claim.job_id) <= 2
    assert (reaped.fence, reaped.gone) == (claim.fence, False)
    assert waking.promote_due(scene.database, LANE) == 0
    assert scene.claim() is None


def test_of_a_worker_that_is_gone_nobody_is_left_to_be_told(scene: Scene) -> None:
    claim = _gone(scene)
    (reaped,) = reaping.reap(scene.database)
    assert reaped.gone
    assert waking.runnable(scene.database, LANE, limit=10) == {RECOVERED: 1}
    assert scene.row(claim.job_id)["ready"]


def test_a_worker_without_a_row_may_live_and_is_told(scene: Scene) -> None:
    _silent(scene)
    scene.change("DELETE FROM workers")
    (reaped,) = reaping.reap(scene.database)
    assert not reaped.gone


def test_each_is_told_after_its_own_commit_and_none_that_was_not_taken(scene: Scene, reactions: Reactions) -> None:
    refusing, fine, also = _silent(scene), _silent(scene, GATED), _silent(scene, GATED)
    scene.change("UPDATE jobs SET recoveries = 2 WHERE id = %s", refusing.job_id)
    reactions.refuse = True
    told: list[tuple[UUID, int]] = []

    def tell(reaped: Reaped) -> None:
        assert scene.row(reaped.job_id)["fence"] == reaped.fence + 1
        told.append((reaped.job_id, reaped.fence))
        left = {claim.job_id for claim in (fine, also)} - {job_id for job_id, _ in told}
        assert all(scene.row(job_id)["state"] == "running" for job_id in left)

    reaping.reap(scene.database, tell=tell)
    assert told == [(fine.job_id, fine.fence), (also.job_id, also.fence)]


def test_what_beats_while_the_write_waits_for_its_row_is_left_alone(scene: Scene) -> None:
    """A run that stores a checkpoint holds its row: what the reap knew before it waited is old."""
    claim = _silent(scene)
    with ThreadPoolExecutor(1) as pool:

        def write(_: Connection) -> None:
            pool.submit(reaping.reap, scene.database)
            scene.wait_until_somebody_waits_for_a_lock()
            scene.age(claim.worker_id, -2 * STALE)

        running.checkpoint(scene.database, claim, write)
    assert scene.row(claim.job_id)["state"] == "running"
    running.progress(scene.database, claim)


def test_a_run_claimed_again_in_between_is_not_the_one_that_was_found(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the abort would name a fence that nobody holds, and the holder would go on."""
    old = _silent(scene)
    look = rows.suspicious

    def lose() -> None:
        assert [reaped.fence for reaped in reaping.reap(scene.database)] == [old.fence]
        scene.come_due()
        scene.worker_id = scene.enter()
        assert scene.claim() is not None
        scene.age(scene.worker_id, 2 * STALE)

    def look_then_lose(*given: Any, **more: Any) -> list[rows.Suspect]:
        found = look(*given, **more)
        monkeypatch.undo()
        with ThreadPoolExecutor(1) as elsewhere:
            elsewhere.submit(lose).result()
        return found

    monkeypatch.setattr(rows, "suspicious", look_then_lose)
    assert reaping.reap(scene.database) == []
    row = scene.row(old.job_id)
    assert (row["state"], row["fence"]) == ("running", old.fence + 2)


@pytest.mark.parametrize("task", [RECOVERED, TRIED])
def test_a_run_without_its_stored_request_is_failed_for_good(scene: Scene, reactions: Reactions, task: str) -> None:
    claim = _silent(scene, task, total_items=29)
    running.progress(scene.database, claim, done=7)
    scene.change("DELETE FROM job_bodies")
    (reaped,) = reaping.reap(scene.database)
    assert reaped.outcome == "failed"
    row = scene.row(claim.job_id)
    assert (row["state"], row["reason"], row["recoveries"]) == ("failed", "request_gone", 0)
    assert row["error"] == "Given up, because its stored request is gone: 7 of 29 items completed."
    (seen,) = reactions.seen
    assert (seen.outcome, seen.reason) == ("failed", "request_gone")


def test_with_no_recovery_allowed_the_first_loss_is_the_last(scene: Scene) -> None:
    claim = _silent(scene)
    scene.change("UPDATE jobs SET max_recoveries = 0")
    (reaped,) = reaping.reap(scene.database)
    assert reaped.outcome == "failed"
    assert scene.row(claim.job_id)["error"] == "Given up after it was abandoned once: 0 of ? items completed."


def test_what_runs_is_counted_with_what_looks_abandoned(scene: Scene) -> None:
    scene.hold(RECOVERED)
    scene.age(scene.worker_id, STALE / 2)
    _silent(scene)
    hung = _silent(scene, TRIED)
    scene.age(hung.worker_id, -2 * STALE)
    scene.change("UPDATE jobs SET progress_at = progress_at - %s WHERE id = %s", 2 * STALL, hung.job_id)
    _gone(scene)
    found = reaping.in_flight(scene.database)
    assert found is not None
    assert (found.running, found.abandoned) == (3, 2)
    assert found.oldest_beat is not None
    assert found.oldest_beat - 2 * STALE < timedelta(seconds=60)


def test_a_count_that_takes_too_long_is_given_up(scene: Scene, clone: Clone) -> None:
    impatient = Database(clone.url, DatabaseLimits(statement_timeout=timedelta(seconds=0.3)))
    with scene.superuser() as other, other.transaction():
        other.execute("LOCK TABLE jobs")
        assert reaping.in_flight(impatient, observer=replace(this_process(), boot_id=None)) is None
    impatient.close()
