"""Every way a run can write: what a stale one must not do."""

from collections.abc import Callable

from sqlalchemy import Connection

from ledger import ending, running
from ledger.claiming import Claim
from ledger.inserting import FollowUp
from tests.ledger.scene import ONCE, Payload, Result, Scene

Write = Callable[[Connection], None]
Verb = Callable[[Scene, Claim, Write], object]


VERBS: dict[str, Verb] = {
    "progress": lambda scene, claim, _: running.progress(scene.database, claim, done=9),
    "checkpoint": lambda scene, claim, write: running.checkpoint(scene.database, claim, write),
    "complete": lambda scene, claim, _: ending.complete(scene.database, claim, Result(answer="late")),
    "complete with a write": lambda scene, claim, write: ending.complete(scene.database, claim, write=write),
    "complete with a follow-up": lambda scene, claim, _: ending.complete(
        scene.database, claim, follow_ups=[FollowUp(task=ONCE, payload=Payload())]
    ),
    "fail": lambda scene, claim, _: ending.fail(scene.database, claim, reason="late", error="late"),
    "retry": lambda scene, claim, _: ending.retry(scene.database, claim, error="late"),
    "hand over": lambda scene, claim, _: ending.hand_over(scene.database, claim, progressed=True),
    "hand over without progress": lambda scene, claim, _: ending.hand_over(scene.database, claim, progressed=False),
}
