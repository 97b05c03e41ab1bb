"""The fence: a run that lost its claim writes nothing, by any verb (I2)."""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import Connection, text

from base.errors import ClaimLost
from ledger import ending, gates, reaping
from ledger.claiming import Claim
from schema.accounts import account
from tests.ledger.scene import GATED, RECOVERED, STALE, TRIED, Reactions, Scene
from tests.ledger.verbs import VERBS

pytestmark = pytest.mark.usefixtures("long_up")


def _mark(connection: Connection) -> None:
    """A domain write that a stale run would make."""
    connection.execute(text("UPDATE job_bodies SET reduced = true"))


LOSSES: dict[str, Callable[[Scene, Claim], object]] = {
    "canceled": lambda scene, claim: ending.cancel(scene.database, scene.account_id, claim.job_id, by="a test"),
    "taken back": lambda scene, claim: _taken_back(scene, claim),  # noqa: PLW0108  defined below
    "taken back and claimed again": lambda scene, claim: _claimed_again(scene, claim),  # noqa: PLW0108
    "done": lambda scene, claim: ending.complete(scene.database, claim),
    "handed over": lambda scene, claim: ending.hand_over(scene.database, claim, progressed=True),
}


def _taken_back(scene: Scene, claim: Claim) -> bool:
    scene.age(claim.worker_id, 2 * STALE)
    (reaped,) = reaping.reap(scene.database)
    assert reaped.job_id == claim.job_id
    scene.age(claim.worker_id, -2 * STALE)
    return True


def _claimed_again(scene: Scene, claim: Claim) -> None:
    _taken_back(scene, claim)
    assert scene.come_due() == 1
    assert scene.claim() is not None


def _everything(scene: Scene) -> dict[str, object]:
    tables = ("jobs", "job_bodies", "job_attempts", "gate_slots")
    return {table: scene.look(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("task", [TRIED, RECOVERED])
def test_a_stale_fence_writes_nothing(scene: Scene, reactions: Reactions, loss: str, task: str) -> None:
    claim = scene.hold(task)
    LOSSES[loss](scene, claim)
    before, reacted = _everything(scene), len(reactions.seen)
    for verb in VERBS.values():
        with pytest.raises(ClaimLost):
            verb(scene, claim, _mark)
        assert _everything(scene) == before
    assert len(reactions.seen) == reacted


def test_a_claim_of_another_account_writes_nothing(scene: Scene) -> None:
    """A claim names its account: with the wrong one even the right fence finds nothing (I11)."""
    claim = scene.hold(TRIED)
    forged = Claim(**{**vars(claim), "account_id": account(scene.database, "other")})
    before = _everything(scene)
    for verb in VERBS.values():
        with pytest.raises(ClaimLost):
            verb(scene, forged, _mark)
    assert _everything(scene) == before


def test_a_stale_run_frees_no_slot_of_its_successor(scene: Scene) -> None:
    stale = scene.hold(GATED)
    ending.hand_over(scene.database, stale, progressed=True)
    assert scene.claim() is not None
    with pytest.raises(ClaimLost):
        ending.complete(scene.database, stale)
    assert gates.fill(scene.database, "narrow") == (2, 1)


def test_the_fence_only_rises(scene: Scene) -> None:
    job_id: UUID = scene.insert(TRIED)
    fences = []
    for _ in range(3):
        claim = scene.claim()
        assert claim is not None
        fences.append(claim.fence)
        ending.hand_over(scene.database, claim, progressed=True)
    scene.claim()
    ending.cancel(scene.database, scene.account_id, job_id, by="a test")
    assert fences == [1, 2, 3]
    assert scene.row(job_id)["fence"] == 5
    assert timedelta(0) <= scene.row(job_id)["finished_at"] - scene.row(job_id)["started_at"]
