"""What the relay asks, once a second and lane."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta

from ledger.workers import ALIVE_WITHIN
from schema.engine import Database
from schema.ledger import waking

#: Jobs made runnable in one look; the rest a second later.
_PROMOTED_AT_ONCE = 1000


def promote_due(database: Database, lane: str, *, limit: int = _PROMOTED_AT_ONCE) -> int:
    """Make the lane's jobs runnable whose due time has come; how many did."""
    return waking.promote_due(database, lane, limit)


def runnable(database: Database, lane: str, *, limit: int, alive_within: timedelta = ALIVE_WITHIN) -> Mapping[str, int]:
    """How many jobs of each task could run now, `limit` in all at most; tasks without any are left out.

    A gated task counts at most its gate's free slots, a task no live worker of the lane knows counts nothing.
    """
    with database.engine(read_only=True) as connection:
        return _up_to(limit, waking.runnable(connection, lane, limit, alive_within))


@contextmanager
def turn(
    database: Database, lane: str, *, limit: int, alive_within: timedelta = ALIVE_WITHIN
) -> Iterator[Mapping[str, int] | None]:
    """Be the lane's only relay inside the block, with what `runnable` answers; None: another process's relay is.

    The block holds an advisory lock in a read-only transaction, with no row locked and no snapshot kept. The server
    ends it after five idle seconds; then another relay may start, and at worst some wake-ups are sent twice.
    """
    with database.engine(read_only=True) as connection:
        if not waking.take_turn(connection, lane):
            yield None
        else:
            yield _up_to(limit, waking.runnable(connection, lane, limit, alive_within))


def _up_to(limit: int, found: Mapping[str, int]) -> dict[str, int]:
    left, counts = limit, {}
    for task, count in found.items():
        if counted := min(count, left):
            counts[task] = counted
            left -= counted
    return counts
