"""What the relay counts: what could run now, and what came due (I5)."""

from datetime import timedelta

from base import clock
from ledger import waking, workers
from tests.ledger.scene import GATED, LANE, ONCE, TRIED, Scene


def test_runnable_jobs_are_counted_by_task(scene: Scene) -> None:
    for task in (ONCE, ONCE, TRIED):
        scene.insert(task)
    scene.hold(TRIED, priority=1)
    scene.insert(due_at=clock.now() + timedelta(hours=1))
    assert waking.runnable(scene.database, LANE, limit=100) == {ONCE: 2, TRIED: 1}
    assert waking.runnable(scene.database, "another", limit=100) == {}


def test_the_limit_is_over_all_tasks(scene: Scene) -> None:
    for task in (ONCE, ONCE, TRIED, TRIED):
        scene.insert(task)
    assert sum(waking.runnable(scene.database, LANE, limit=3).values()) == 3


def test_a_gate_counts_its_free_slots(scene: Scene) -> None:
    for _ in range(5):
        scene.insert(GATED)
    assert waking.runnable(scene.database, LANE, limit=100) == {GATED: 2}
    scene.claim()
    assert waking.runnable(scene.database, LANE, limit=100) == {GATED: 1}
    scene.claim()
    assert waking.runnable(scene.database, LANE, limit=100) == {}


def test_a_task_no_live_worker_knows_wakes_nobody(scene: Scene) -> None:
    scene.insert(ONCE)
    assert waking.runnable(scene.database, LANE, limit=100) == {ONCE: 1}
    scene.change("UPDATE workers SET tasks = '{test.other}'")
    assert waking.runnable(scene.database, LANE, limit=100) == {}
    scene.enter()
    assert waking.runnable(scene.database, LANE, limit=100) == {ONCE: 1}
    scene.change("UPDATE workers SET beat_at = beat_at - interval '4 minutes'")
    assert waking.runnable(scene.database, LANE, limit=100) == {}
    workers.beat(scene.database, scene.worker_id)
    scene.change("UPDATE workers SET tasks = %s", [ONCE])
    assert waking.runnable(scene.database, LANE, limit=100) == {ONCE: 1}


def test_a_lane_has_one_relay_at_a_time(scene: Scene) -> None:
    scene.insert(ONCE)
    other = scene.database.apart()
    with waking.turn(scene.database, LANE, limit=100) as mine:
        assert mine == {ONCE: 1}
        with waking.turn(other, LANE, limit=100) as theirs:
            assert theirs is None
        with waking.turn(other, "another", limit=100) as theirs:
            assert theirs == {}
    with waking.turn(other, LANE, limit=100) as theirs:
        assert theirs == {ONCE: 1}
    other.close()


def test_what_came_due_is_promoted_the_longest_due_first(scene: Scene) -> None:
    due = [scene.insert(due_at=clock.now() + timedelta(hours=1 + n)) for n in range(3)]
    assert waking.promote_due(scene.database, LANE) == 0
    scene.change("UPDATE jobs SET due_at = due_at - interval '1 day' WHERE id = ANY (%s)", due[1:])
    assert waking.promote_due(scene.database, "another") == 0
    assert waking.promote_due(scene.database, LANE, limit=1) == 1
    assert scene.row(due[1])["ready"]
    assert waking.promote_due(scene.database, LANE) == 1
    assert [scene.row(job_id)["ready"] for job_id in due] == [False, True, True]


def test_promotion_passes_over_what_somebody_holds(scene: Scene) -> None:
    held, free = (scene.insert(due_at=clock.now() + timedelta(hours=1)) for _ in range(2))
    scene.change("UPDATE jobs SET due_at = due_at - interval '1 day'")
    with scene.superuser() as connection, connection.transaction():
        connection.execute("SELECT 1 FROM jobs WHERE id = %s FOR UPDATE", [held])
        assert waking.promote_due(scene.database, LANE) == 1
    assert scene.row(free)["ready"]
    assert waking.promote_due(scene.database, LANE) == 1
