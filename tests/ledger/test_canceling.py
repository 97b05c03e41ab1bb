"""Cancel: one transaction, whoever holds the job; of a cancel and a finish exactly one wins (I8)."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from base.errors import ClaimLost, NotFound
from base.ids import uuid7
from ledger import ending, reaping
from ledger.claiming import Claim
from schema.accounts import account
from tests.ledger.scene import ONCE, RECOVERED, STALE, TRIED, Reactions, Scene


@pytest.mark.parametrize("held", [False, True])
def test_waiting_and_running_jobs_are_canceled_at_once(scene: Scene, reactions: Reactions, held: bool) -> None:
    job_id = scene.hold(TRIED).job_id if held else scene.insert(TRIED)
    assert ending.cancel(scene.database, scene.account_id, job_id, by="ops@example.org").answer == "accepted"
    row = scene.row(job_id)
    assert (row["state"], row["reason"], row["fence"]) == ("canceled", "canceled_by_operator", 1 + held)
    assert row["error"] == "Canceled by ***."
    (seen,) = reactions.seen
    assert (seen.outcome, seen.started_at is not None) == ("canceled", held)
    (attempt,) = scene.attempts(job_id)
    assert (attempt["outcome"], attempt["worker_id"]) == ("canceled", scene.worker_id if held else None)
    assert scene.claim() is None


def test_an_ended_job_stays_as_it_ended(scene: Scene, reactions: Reactions) -> None:
    claim = scene.hold(TRIED)
    ending.complete(scene.database, claim)
    before = scene.row(claim.job_id)
    assert ending.cancel(scene.database, scene.account_id, claim.job_id, by="a test").answer == "already_ended"
    assert scene.row(claim.job_id) == before
    assert [seen.outcome for seen in reactions.seen] == ["done"]


@pytest.mark.usefixtures("long_up")
def test_a_cancel_is_not_undone_by_recovery(scene: Scene) -> None:
    claim = scene.hold(RECOVERED)
    ending.cancel(scene.database, scene.account_id, claim.job_id, by="a test")
    scene.age(scene.worker_id, 2 * STALE)
    assert reaping.reap(scene.database) == []
    assert scene.row(claim.job_id)["state"] == "canceled"


def test_jobs_of_others_and_of_nobody_are_not_found(scene: Scene) -> None:
    job_id = scene.insert()
    for account_id, wanted in ((account(scene.database, "other"), job_id), (scene.account_id, uuid7())):
        with pytest.raises(NotFound):
            ending.cancel(scene.database, account_id, wanted, by="a test")
    assert scene.row(job_id)["state"] == "pending"


def test_of_a_cancel_and_a_finish_exactly_one_wins(scene: Scene, reactions: Reactions) -> None:
    together = Barrier(2)

    def finish(claim: Claim) -> bool:
        together.wait(5)
        try:
            ending.complete(scene.database, claim)
        except ClaimLost:
            return False
        return True

    def cancel(claim: Claim) -> bool:
        together.wait(5)
        return ending.cancel(scene.database, scene.account_id, claim.job_id, by="a test").answer == "accepted"

    with ThreadPoolExecutor(2) as pool:
        for n in range(60):
            claim = scene.hold(TRIED if n % 2 else ONCE)
            finished, canceled = pool.submit(finish, claim), pool.submit(cancel, claim)
            assert finished.result(10) != canceled.result(10)
            assert scene.row(claim.job_id)["state"] == ("done" if finished.result() else "canceled")
    assert len(reactions.seen) == 30
