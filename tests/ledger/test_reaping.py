"""The reap takes back what is abandoned, and nothing else (I9, E27, E31 to E33)."""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from threading import Barrier
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from base import clock
from base.errors import ClaimLost
from ledger import ending, gates, reaping, running, workers
from ledger.claiming import Claim
from ledger.presence import Process, this_process
from schema.accounts import account
from schema.engine import Database
from schema.ledger import reaping as rows
from tests.ledger.scene import GATED, LANE, RECOVERED, STALE, STALL, TASKS, TRIED, Reactions, Scene

pytestmark = pytest.mark.usefixtures("long_up")

MOMENT = timedelta(seconds=5)


def _silent(scene: Scene, task: str = RECOVERED) -> Claim:
    """A run whose worker's last beat is a moment too old."""
    claim = scene.hold(task)
    scene.worker_id, silent = scene.enter(), scene.worker_id
    scene.age(silent, STALE + MOMENT)
    return claim


def test_a_healthy_run_is_never_taken_however_old(scene: Scene) -> None:
    claim = scene.hold(RECOVERED)
    scene.change("UPDATE jobs SET started_at = started_at - interval '3 days', created_at = now() - interval '4 days'")
    scene.age(scene.worker_id, STALE - MOMENT)
    scene.change("UPDATE jobs SET progress_at = progress_at - %s", STALL - MOMENT)
    assert reaping.reap(scene.database) == []
    running.progress(scene.database, claim)


def test_a_run_of_a_silent_worker_goes_back_with_its_recovery_counted(scene: Scene, reactions: Reactions) -> None:
    claim = _silent(scene)
    (reaped,) = reaping.reap(scene.database)
    assert (reaped.job_id, reaped.task, reaped.lane, reaped.fence, reaped.outcome) == (
        claim.job_id,
        RECOVERED,
        LANE,
        claim.fence,
        "pending",
    )
    row = scene.row(claim.job_id)
    assert (row["state"], row["ready"], row["attempts"], row["recoveries"], row["fence"]) == ("pending", False, 0, 1, 2)
    (attempt,) = scene.attempts(claim.job_id)
    assert (attempt["outcome"], attempt["worker_id"], attempt["fence"]) == ("reaped", claim.worker_id, claim.fence)
    assert reactions.seen == []
    scene.come_due()
    again = scene.claim()
    assert again is not None
    assert (again.fence, again.recoveries) == (3, 1)


def test_a_hung_run_of_a_beating_worker_is_taken(scene: Scene) -> None:
    claim = scene.hold(RECOVERED)
    scene.change("UPDATE jobs SET progress_at = progress_at - %s", STALL + MOMENT)
    workers.beat(scene.database, scene.worker_id)
    assert [reaped.job_id for reaped in reaping.reap(scene.database)] == [claim.job_id]


def test_recoveries_are_bounded_and_then_it_fails_with_what_was_done(scene: Scene, reactions: Reactions) -> None:
    job_id = scene.insert(RECOVERED, total_items=29)
    outcomes = []
    for _ in range(3):
        claim = scene.claim()
        assert claim is not None
        running.progress(scene.database, claim, done=7)
        scene.change("UPDATE jobs SET progress_at = progress_at - %s", STALL + MOMENT)
        outcomes += [reaped.outcome for reaped in reaping.reap(scene.database)]
        scene.come_due()
    assert outcomes == ["pending", "pending", "failed"]
    row = scene.row(job_id)
    assert (row["state"], row["reason"], row["recoveries"], row["attempts"]) == ("failed", "recovery_exhausted", 2, 0)
    assert row["error"] == "Given up after it was abandoned 3 times: 7 of 29 items completed."
    (seen,) = reactions.seen
    assert (seen.outcome, seen.reason, seen.done_items, seen.total_items) == ("failed", "recovery_exhausted", 7, 29)
    assert reaping.reap(scene.database) == []


def test_bounded_by_attempts_a_lost_worker_has_used_one(scene: Scene) -> None:
    job_id = scene.insert(TRIED)
    for attempt in (1, 2, 3):
        assert scene.claim() is not None
        scene.change("UPDATE jobs SET progress_at = progress_at - %s", STALL + MOMENT)
        reaping.reap(scene.database)
        assert scene.row(job_id)["attempts"] == attempt
        scene.come_due()
    row = scene.row(job_id)
    assert (row["state"], row["reason"], row["fence"]) == ("failed", "recovery_exhausted", 6)


def test_a_run_is_taken_back_inside_its_own_account(scene: Scene) -> None:
    mine = _silent(scene)
    scene.account_id = account(scene.database, "other")
    other = _silent(scene)
    assert {(r.account_id, r.job_id) for r in reaping.reap(scene.database)} == {
        (mine.account_id, mine.job_id),
        (other.account_id, other.job_id),
    }
    assert {a["account_id"] for a in scene.look("SELECT account_id FROM job_attempts")} == {
        mine.account_id,
        other.account_id,
    }


def test_its_slot_is_freed(scene: Scene) -> None:
    _silent(scene, GATED)
    reaping.reap(scene.database)
    assert gates.fill(scene.database, "narrow") == (2, 0)


def test_what_beats_between_the_look_and_the_write_is_left_alone(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = _silent(scene)
    look = rows.suspicious

    def look_then_beat(*given: Any, **more: Any) -> list[rows.Suspect]:
        found = look(*given, **more)
        assert len(found) == 1
        scene.age(claim.worker_id, -STALE)
        return found

    monkeypatch.setattr(rows, "suspicious", look_then_beat)
    assert reaping.reap(scene.database) == []
    running.progress(scene.database, claim)


def test_an_outage_of_the_observer_ages_nobody(scene: Scene) -> None:
    claim = _silent(scene)
    assert reaping.reap(scene.database, watched_since=clock.now() - STALE / 2) == []
    assert [r.job_id for r in reaping.reap(scene.database, watched_since=clock.now() - 2 * STALE)] == [claim.job_id]
    (now,) = scene.look("SELECT clock_timestamp() AS now")
    assert reaping.clock(scene.database) >= now["now"]


def test_an_outage_of_the_database_ages_nobody(scene: Scene) -> None:
    _silent(scene)
    scene.change(
        "CREATE OR REPLACE FUNCTION public.pg_postmaster_start_time() RETURNS timestamptz LANGUAGE sql STABLE "
        "AS $$ SELECT now() - interval '1 minute' $$"
    )
    assert reaping.reap(scene.database) == []


def test_one_reaction_that_fails_costs_its_job_only(scene: Scene, reactions: Reactions) -> None:
    broken, fine = _silent(scene), _silent(scene, GATED)
    scene.change("UPDATE jobs SET recoveries = 2 WHERE id = %s", broken.job_id)
    reactions.refuse = True
    assert [r.job_id for r in reaping.reap(scene.database)] == [fine.job_id]
    assert scene.row(broken.job_id)["state"] == "running"
    reactions.refuse = False
    assert [(r.job_id, r.outcome) for r in reaping.reap(scene.database)] == [(broken.job_id, "failed")]


def test_those_that_cannot_be_taken_back_do_not_hide_the_rest(scene: Scene, reactions: Reactions) -> None:
    broken = [_silent(scene) for _ in range(3)]
    scene.change("UPDATE jobs SET recoveries = 2")
    fine = _silent(scene, GATED)
    reactions.refuse = True
    assert [r.job_id for r in reaping.reap(scene.database, limit=2)] == [fine.job_id]
    assert {scene.row(claim.job_id)["state"] for claim in broken} == {"running"}


def test_of_a_reap_and_a_finish_exactly_one_wins(scene: Scene, reactions: Reactions) -> None:
    together = Barrier(2)

    def finish(claim: Claim) -> bool:
        together.wait(5)
        try:
            ending.complete(scene.database, claim)
        except ClaimLost:
            return False
        return True

    def reap() -> bool:
        together.wait(5)
        return bool(reaping.reap(scene.database))

    with ThreadPoolExecutor(2) as pool:
        for _ in range(30):
            claim = _silent(scene)
            finished, reaped = pool.submit(finish, claim), pool.submit(reap)
            assert finished.result(10) != reaped.result(10)
            row = scene.row(claim.job_id)
            assert (row["state"], row["fence"]) == (("done", 1) if finished.result() else ("pending", 2))
            if reaped.result():
                ending.cancel(scene.database, scene.account_id, claim.job_id, by="a test")


def test_tasks_this_process_does_not_know_are_left_to_others(scene: Scene) -> None:
    claim = _silent(scene)
    scene.change("UPDATE jobs SET task = 'test.elsewhere', bucket = 'test.elsewhere' WHERE id = %s", claim.job_id)
    assert reaping.reap(scene.database) == []


def test_a_sweep_is_bounded_and_takes_the_longest_stalled_first(scene: Scene) -> None:
    claims = [scene.hold(RECOVERED) for _ in range(3)]
    for n, claim in enumerate(claims):
        scene.change("UPDATE jobs SET progress_at = progress_at - %s WHERE id = %s", STALL * (2 + n), claim.job_id)
    assert [r.job_id for r in reaping.reap(scene.database, limit=2)] == [claims[2].job_id, claims[1].job_id]


@contextmanager
def _child() -> Iterator[tuple[subprocess.Popen[bytes], Process]]:
    """A process that waits until it is killed, and how a worker in it would describe itself."""
    program = (
        "import dataclasses, json, sys\n"
        "from ledger.presence import this_process\n"
        "print(json.dumps(dataclasses.asdict(this_process())), flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        described = Process(**json.loads(child.stdout.readline()))
        yield child, described
        child.kill()


def _claim_in(database: Database, scene: Scene, process: Process) -> tuple[UUID, UUID]:
    scene.worker_id = workers.register(database, lanes=[LANE], tasks=TASKS, process=process)
    return scene.worker_id, scene.hold(RECOVERED).job_id


def test_what_a_dead_process_of_this_machine_held_is_taken_at_once(scene: Scene) -> None:
    with _child() as (child, described):
        _, job_id = _claim_in(scene.database, scene, described)
        assert reaping.reap_gone(scene.database) == []  # it lives
        child.kill()
        child.wait()
        assert [r.job_id for r in reaping.reap_gone(scene.database)] == [job_id]
    assert reaping.reap_gone(scene.database) == []


def test_the_sweep_takes_it_too(scene: Scene) -> None:
    with _child() as (child, described):
        _, job_id = _claim_in(scene.database, scene, described)
        assert reaping.reap(scene.database) == []
        child.kill()
        child.wait()
        assert [r.job_id for r in reaping.reap(scene.database)] == [job_id]


@pytest.mark.parametrize(
    "elsewhere", [{"boot_id": "another boot"}, {"pid_namespace": 1}, {"boot_id": None}, {"pid_namespace": None}]
)
def test_a_process_of_elsewhere_is_never_called_gone(scene: Scene, elsewhere: dict[str, object]) -> None:
    """Its pid means nothing here: only its silence counts."""
    missing = replace(this_process(), pid=2**22 + 1)
    _claim_in(scene.database, scene, replace(missing, **elsewhere))  # type: ignore[arg-type]
    assert reaping.reap(scene.database) == []
    assert reaping.reap_gone(scene.database) == []


def test_an_observer_that_knows_too_little_of_itself_calls_nobody_gone(scene: Scene) -> None:
    _claim_in(scene.database, scene, replace(this_process(), pid=2**22 + 1))
    assert reaping.reap_gone(scene.database, observer=replace(this_process(), boot_id=None)) == []
    assert len(reaping.reap_gone(scene.database)) == 1


def test_a_worker_without_a_row_has_abandoned_its_runs(scene: Scene) -> None:
    claim = scene.hold(RECOVERED)
    scene.change("DELETE FROM workers")
    assert [r.job_id for r in reaping.reap(scene.database)] == [claim.job_id]
    ending.cancel(scene.database, scene.account_id, claim.job_id, by="a test")


def test_the_role_of_an_account_can_read_beats(scene: Scene) -> None:
    """A run's last heartbeat is its worker's beat, joined while it is held."""
    claim = scene.hold(RECOVERED)
    with scene.database.account(scene.account_id) as connection:
        beat = connection.execute(
            text("SELECT w.beat_at FROM jobs j JOIN workers w ON w.id = j.worker_id WHERE j.id = :id"),
            {"id": claim.job_id},
        ).scalar_one()
    assert beat is not None
