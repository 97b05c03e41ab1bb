"""Which sweep ran when, and since when it holds back: one row each, shared by all processes that could sweep."""

from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import TextClause, text

from schema.engine import Database

# Of two processes at once the second waits for the first's row, looks at it again, and finds that it has just begun.
_TAKE_TURN = text(
    """
    INSERT INTO sweeps AS s (name, began_at) VALUES (:name, clock_timestamp())
    ON CONFLICT (name) DO UPDATE SET began_at = clock_timestamp()
    WHERE s.began_at <= clock_timestamp() - CAST(:every AS interval)
       OR s.held_back_since + CAST(:hold AS interval) BETWEEN s.began_at AND clock_timestamp()
    RETURNING began_at, held_back_since
    """
)
_HOLD_BACK = text(
    "UPDATE sweeps SET held_back_since = coalesce(held_back_since, began_at) WHERE name = :name RETURNING name"
)
_GO_ON = text(
    "UPDATE sweeps SET held_back_since = NULL WHERE name = :name AND held_back_since IS NOT NULL RETURNING name"
)


class Turn(NamedTuple):
    """A sweep that this process does now, by the database's clock."""

    began_at: datetime
    held_back_since: datetime | None

    @property
    def held_back_for(self) -> timedelta:
        """How long it has held back by now."""
        return self.began_at - (self.held_back_since or self.began_at)


def take_turn(database: Database, name: str, every: timedelta, hold: timedelta) -> Turn | None:
    """Begin the sweep of that name; None when one began more recently than `every` ago, here or elsewhere.

    One that has held back for `hold` by now begins without waiting for its interval.
    """
    for row in database.ask_engine(_TAKE_TURN, {"name": name, "every": every, "hold": hold}):
        return Turn._make(row)
    return None


def hold_back(database: Database, name: str) -> None:
    """Note that the sweep holds back, from the first time on that it does."""
    _note(database, _HOLD_BACK, name)


def go_on(database: Database, name: str) -> None:
    """Note that nothing holds the sweep back."""
    _note(database, _GO_ON, name)


def _note(database: Database, statement: TextClause, name: str) -> None:
    database.ask_engine(statement, {"name": name})
