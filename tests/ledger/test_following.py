"""A plain end claims the next job with it: in one transaction, and neither at the other's cost (I2, I4, I11, I12)."""

from dataclasses import replace

import pytest

from base.errors import ClaimLost
from ledger import ending
from ledger.claiming import Claim
from schema.accounts import account
from tests.ledger.scene import GATED, ONCE, RECOVERED, TASKS, TRIED, Result, Scene


def _end(scene: Scene, claim: Claim, *, suspects: bool = True) -> Claim | None:
    return ending.complete(scene.database, claim, Result(answer="42"), next_of=TASKS, suspects=suspects)


def test_the_best_runnable_job_is_claimed_with_the_end_of_the_last(scene: Scene) -> None:
    claim = scene.hold()
    scene.insert(n=1)
    scene.account_id = account(scene.database, "other")
    best = scene.insert(n=2, priority=1)

    following = _end(scene, claim)

    assert following is not None
    assert (following.job_id, following.account_id, following.payload) == (best, scene.account_id, {"n": 2})
    assert (following.fence, following.attempts, following.worker_id) == (1, 1, scene.worker_id)
    assert scene.row(best)["started_at"] == following.claimed_at
    assert scene.row(claim.job_id)["state"] == "done"
    (body,) = scene.look("SELECT result FROM job_bodies WHERE result IS NOT NULL")
    assert body == {"result": {"answer": "42"}}


def test_with_nothing_runnable_the_end_is_an_end(scene: Scene) -> None:
    claim = scene.hold()
    assert _end(scene, claim) is None
    assert scene.row(claim.job_id)["state"] == "done"


def test_a_stale_end_claims_nothing(scene: Scene) -> None:
    claim = scene.hold()
    waiting = scene.insert()
    ending.cancel(scene.database, scene.account_id, claim.job_id, by="a test")

    with pytest.raises(ClaimLost):
        _end(scene, claim)

    assert (scene.row(claim.job_id)["state"], scene.row(waiting)["state"]) == ("canceled", "pending")


def test_an_end_in_another_account_is_no_end(scene: Scene) -> None:
    claim = scene.hold()
    with pytest.raises(ClaimLost):
        _end(scene, replace(claim, account_id=account(scene.database, "other")))
    assert scene.row(claim.job_id)["state"] == "running"


def test_a_next_job_that_cannot_be_claimed_costs_the_last_one_nothing(scene: Scene) -> None:
    claim = scene.hold()
    broken = scene.insert()
    scene.change("UPDATE jobs SET attempts = max_attempts, fence = 1 WHERE id = %s", broken)  # one more breaks a rule

    assert _end(scene, claim) is None

    assert (scene.row(claim.job_id)["state"], scene.row(broken)["state"]) == ("done", "pending")
    assert scene.look("SELECT result FROM job_bodies WHERE job_id = %s", claim.job_id) == [{"result": {"answer": "42"}}]


def test_an_end_that_brings_more_claims_nothing(scene: Scene) -> None:
    claims = [scene.hold(ONCE), scene.hold(TRIED)]
    waiting = scene.insert()

    assert ending.complete(scene.database, claims[0], write=lambda _: None, next_of=TASKS) is None
    assert ending.complete(scene.database, claims[1], next_of=TASKS) is None  # its step has a reaction

    assert scene.row(waiting)["state"] == "pending"


def test_the_slot_that_is_freed_is_the_next_ones(scene: Scene) -> None:
    inside = [scene.hold(GATED), scene.hold(GATED)]
    behind = scene.insert(GATED)
    assert scene.claim() is None

    following = _end(scene, inside[0])

    assert following is not None
    assert following.job_id == behind
    held = scene.look("SELECT job_id FROM gate_slots WHERE gate = 'narrow'")
    assert {slot["job_id"] for slot in held} == {behind, inside[1].job_id}


def test_a_suspect_is_passed_over_on_request(scene: Scene) -> None:
    claim = scene.hold()
    suspect = scene.insert(RECOVERED)
    scene.change("UPDATE jobs SET recoveries = 1, fence = 1 WHERE id = %s", suspect)
    assert _end(scene, claim, suspects=False) is None
    assert scene.row(suspect)["state"] == "pending"
