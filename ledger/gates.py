"""Sizing gates: how many of a kind run at once over the cluster."""

from base.errors import BadInput
from schema.engine import Database
from schema.ledger import gates


def resize(database: Database, gate: str, slots: int) -> None:
    """Let so many jobs through the gate at once; 0 closes it. Jobs inside a gate that shrinks run to their end."""
    if slots < 0:
        raise BadInput(f"The gate {gate} can't have {slots} slots: 0 closes it.")
    with database.engine() as connection:
        gates.resize(connection, gate, slots)


def fill(database: Database, gate: str) -> tuple[int, int]:
    """(slots, slots in use) of the gate."""
    with database.engine() as connection:
        return gates.fill(connection, gate)
