"""Claiming: one job for one worker, counted as an attempt, with its gate's slot (I1, I3)."""

from collections.abc import Collection
from uuid import UUID

from schema.engine import Database
from schema.ledger import claims
from schema.ledger.claims import Claim

__all__ = ["Claim", "claim"]

#: Looks at the lane in which others were faster each time, before the claimer gives up; its wake-up is spent then,
#: and the relay sends another.
_LOOKS = 8


def claim(
    database: Database, worker_id: UUID, lane: str, tasks: Collection[str], *, suspects: bool = True
) -> Claim | None:
    """Claim the best runnable job of a lane among the tasks given; None when there is none.

    Best is: smallest priority, then turn, then oldest. `suspects` False passes over jobs that lost a worker before:
    a process should hold one such job at a time.

    Raises:
        DatabaseAway: it can't be asked now; nothing was claimed, or the claim is an orphan for the beat to find.
    """
    shut: set[str] = set()
    for _ in range(_LOOKS):
        taken = claims.take(database, worker_id=worker_id, lane=lane, tasks=tasks, suspects=suspects, shut=shut)
        if not isinstance(taken, claims.Missed):
            return taken
        if taken.gate is not None:
            # Its last slot went to another claim at this moment: look past it, other buckets may be open.
            shut.add(taken.gate)
    return None
