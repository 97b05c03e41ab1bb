"""Reading jobs for people."""

from datetime import timedelta

import pytest

from base import clock
from base.errors import NotFound
from ledger import ending, reading
from schema.accounts import account
from tests.ledger.scene import GATED, LANE, ONCE, TRIED, Result, Scene


def test_a_list_goes_by_pages_and_filters(scene: Scene) -> None:
    ids = [scene.insert(TRIED if n % 2 else ONCE, key=f"k{n}") for n in range(7)]
    first = reading.list_jobs(scene.database, scene.account_id, limit=4)
    rest = reading.list_jobs(scene.database, scene.account_id, before=first[-1].id, limit=4)
    assert [job.id for job in [*first, *rest]] == sorted(ids, reverse=True)
    filtered = reading.list_jobs(scene.database, scene.account_id, tasks=[TRIED], lanes=[LANE], states=["pending"])
    assert {job.id for job in filtered} == set(ids[1::2])
    assert [job.id for job in reading.list_jobs(scene.database, scene.account_id, key="k3")] == [ids[3]]
    ending.cancel(scene.database, scene.account_id, ids[0], by="x", reason="excluded")
    assert [job.id for job in reading.list_jobs(scene.database, scene.account_id, reason="excluded")] == [ids[0]]
    assert reading.list_jobs(scene.database, account(scene.database, "other")) == []


def test_a_job_in_full(scene: Scene) -> None:
    claim = scene.hold(TRIED, n=5)
    running = reading.show_job(scene.database, scene.account_id, claim.job_id)
    assert (running.job.state, running.job.worker_id, running.waiting) == ("running", scene.worker_id, None)
    assert running.job.host
    assert running.job.beat_at
    ending.complete(scene.database, claim, Result(answer="x"))
    done = reading.show_job(scene.database, scene.account_id, claim.job_id)
    assert (done.result, done.payload_bytes, done.attempts) == ({"answer": "x"}, len('{"n": 5}'), [])


def test_jobs_of_others_are_not_found(scene: Scene) -> None:
    job_id = scene.insert()
    with pytest.raises(NotFound):
        reading.show_job(scene.database, account(scene.database, "other"), job_id)


def test_why_a_job_waits(scene: Scene) -> None:
    def why(job_id: object) -> str | None:
        return reading.show_job(scene.database, scene.account_id, job_id).waiting  # type: ignore[arg-type]

    later = scene.insert(due_at=clock.now() + timedelta(hours=1))
    assert "It is due at" in str(why(later))
    retried = scene.hold(TRIED)
    ending.retry(scene.database, retried, error="busy", retry_after=timedelta(hours=1))
    assert "It failed and is tried again at" in str(why(retried.job_id))
    for _ in range(2):
        scene.hold(GATED)
    assert why(scene.insert(GATED)) == "The gate narrow is full: 2 of 2 are running."
    assert why(scene.insert()) == "It waits for its turn."
    scene.age(scene.worker_id, timedelta(hours=1))
    assert why(scene.insert()) == f"No live worker of the lane {LANE} knows the task {ONCE}."
    shown = reading.show_job(scene.database, scene.account_id, retried.job_id)
    assert [(a.outcome, a.error) for a in shown.attempts] == [("retried", "busy")]
