"""What the relay asks, once a second and lane."""

from collections.abc import Mapping
from datetime import timedelta

from schema.engine import Database
from schema.ledger import waking

#: Jobs made runnable in one look; the rest a second later.
_PROMOTED_AT_ONCE = 1000

#: A worker silent for longer wakes for nothing.
_ALIVE_WITHIN = timedelta(minutes=3)


def promote_due(database: Database, lane: str, *, limit: int = _PROMOTED_AT_ONCE) -> int:
    """Make the lane's jobs runnable whose due time has come; how many did."""
    return waking.promote_due(database, lane, limit)


def runnable(
    database: Database, lane: str, *, limit: int, alive_within: timedelta = _ALIVE_WITHIN
) -> Mapping[str, int]:
    """How many jobs of each task could run now, `limit` in all at most; tasks without any are left out.

    A gated task counts at most its gate's free slots, a task no live worker of the lane knows counts nothing.
    """
    left, counts = limit, {}
    for task, count in waking.runnable(database, lane, limit, alive_within).items():
        if counted := min(count, left):
            counts[task] = counted
            left -= counted
    return counts
