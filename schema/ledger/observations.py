"""What was learned about the outside world: one row per fact, the last one noted."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import text

from schema.engine import Database

_NOTE = text(
    "INSERT INTO observations (name, value) VALUES (:name, :value) "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value, noted_at = clock_timestamp() RETURNING name"
)
_LAST = text("SELECT value, noted_at FROM observations WHERE name = :name")


class Observation(NamedTuple):
    """A fact, and when it was last seen so."""

    value: int
    noted_at: datetime


def note(database: Database, name: str, value: int) -> None:
    """Keep it; what was seen before is forgotten."""
    database.ask_engine(_NOTE, {"name": name, "value": value})


def last(database: Database, name: str) -> Observation | None:
    """What was noted last."""
    for row in database.ask_engine(_LAST, {"name": name}):
        return Observation._make(row)
    return None
