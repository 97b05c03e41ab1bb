"""Facts about the outside world that no setting tells: noted by whoever learns one, read by whoever starts later."""

from schema.engine import Database
from schema.ledger import observations
from schema.ledger.observations import Observation

__all__ = ["Observation", "last", "note"]


def note(database: Database, name: str, value: int) -> None:
    """Keep a fact.

    Raises:
        DatabaseAway: it can't be kept now.
    """
    observations.note(database, name, value)


def last(database: Database, name: str) -> Observation | None:
    """The fact of that name, as it was noted last.

    Raises:
        DatabaseAway: it can't be asked now.
    """
    return observations.last(database, name)
