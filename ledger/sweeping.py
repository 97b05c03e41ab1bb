"""The turns of the sweeps: of all processes that could sweep one does, once an interval.

A sweep may hold back when what it sees can't be right. Since when stands in its row: whoever sweeps next goes on
with it, also after a time in which nobody swept at all; then it does not hold back anew.
"""

from datetime import timedelta

from schema.engine import Database
from schema.ledger import sweeps
from schema.ledger.sweeps import Turn

__all__ = ["Turn", "go_on", "hold_back", "take_turn"]


def take_turn(database: Database, name: str, *, every: timedelta, hold: timedelta) -> Turn | None:
    """Begin the sweep of that name; None: one began more recently than `every` ago, in whichever process.

    A sweep that holds back begins again when it has done so for `hold`, though its interval is not over.

    Raises:
        DatabaseAway: it can't be asked now.
    """
    return sweeps.take_turn(database, name, every, hold)


def hold_back(database: Database, name: str) -> None:
    """Note that the sweep held back in this turn."""
    sweeps.hold_back(database, name)


def go_on(database: Database, name: str) -> None:
    """Note that nothing holds the sweep back any more."""
    sweeps.go_on(database, name)
