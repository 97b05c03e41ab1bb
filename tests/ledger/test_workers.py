"""Workers enter, beat and retire; a beat reads what the ledger thinks they hold."""

from datetime import timedelta

import pytest

from base.errors import LonghaulError
from base.ids import uuid7
from ledger import ending, gates, workers
from tests.ledger.scene import GATED, LANE, TRIED, Scene


def test_a_worker_describes_its_process(scene: Scene) -> None:
    (row,) = scene.look("SELECT * FROM workers")
    assert row["id"] == scene.worker_id
    assert row["lanes"] == [LANE]
    assert GATED in row["tasks"]
    assert row["pid"] > 0


def test_each_start_is_a_new_worker(scene: Scene) -> None:
    assert scene.enter() != scene.worker_id


def test_a_beat_moves_and_reads_what_the_worker_holds(scene: Scene) -> None:
    held, ended = scene.hold(TRIED), scene.hold(TRIED)
    scene.insert(TRIED)
    ending.complete(scene.database, ended)
    mine, scene.worker_id = scene.worker_id, scene.enter()
    scene.claim()
    (before,) = scene.look("SELECT beat_at FROM workers WHERE id = %s", mine)
    assert workers.beat(scene.database, mine) == [(held.job_id, held.fence)]
    (after,) = scene.look("SELECT beat_at FROM workers WHERE id = %s", mine)
    assert after["beat_at"] > before["beat_at"]


def test_a_beat_waits_for_no_finishing_run(scene: Scene) -> None:
    claim = scene.hold(TRIED)
    with scene.superuser() as connection, connection.transaction():
        connection.execute("SELECT 1 FROM jobs WHERE id = %s FOR UPDATE", [claim.job_id])
        assert workers.beat(scene.database, scene.worker_id) == [(claim.job_id, claim.fence)]


def test_who_never_entered_cannot_beat(scene: Scene) -> None:
    with pytest.raises(LonghaulError, match="never registered"):
        workers.beat(scene.database, uuid7())


def test_an_orphan_is_handed_back_and_nothing_is_counted(scene: Scene) -> None:
    claim = scene.hold(GATED)
    assert not workers.release(scene.database, scene.enter(), claim.job_id, claim.fence)  # another's
    assert not workers.release(scene.database, scene.worker_id, claim.job_id, claim.fence + 1)  # another claim
    assert workers.release(scene.database, scene.worker_id, claim.job_id, claim.fence)
    assert not workers.release(scene.database, scene.worker_id, claim.job_id, claim.fence)
    row = scene.row(claim.job_id)
    assert (row["state"], row["ready"], row["attempts"], row["recoveries"]) == ("pending", True, 0, 0)
    assert gates.fill(scene.database, "narrow") == (2, 0)
    assert [(a["outcome"], a["reason"]) for a in scene.attempts(claim.job_id)] == [("handed_over", "orphaned")]


def test_lanes_alive_counts_who_beats_and_has_not_retired(scene: Scene) -> None:
    within = timedelta(seconds=30)
    assert workers.lanes_alive(scene.database, LANE, within) == 1
    second = scene.enter()
    assert workers.lanes_alive(scene.database, LANE, within) == 2
    assert workers.lanes_alive(scene.database, "another", within) == 0
    workers.retire(scene.database, second)
    assert workers.lanes_alive(scene.database, LANE, within) == 1
    scene.age(scene.worker_id, timedelta(minutes=1))
    assert workers.lanes_alive(scene.database, LANE, within) == 0


def test_a_gate_keeps_the_size_an_operator_gave_it(scene: Scene) -> None:
    assert len(scene.look("SELECT 1 FROM gate_slots WHERE gate = 'narrow'")) == 2
    scene.change("DELETE FROM gate_slots WHERE n = 2")
    scene.enter()
    assert len(scene.look("SELECT 1 FROM gate_slots WHERE gate = 'narrow'")) == 1
