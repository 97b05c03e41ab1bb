"""Gates: named limits over the cluster on jobs that run at once. A gate of n has n slot rows."""

from sqlalchemy import Connection, text

# Slots in use stay: a gate that shrinks lets its running jobs finish.
_SHRINK = text("DELETE FROM gate_slots WHERE gate = :gate AND n > :slots AND job_id IS NULL")
_GROW = text(
    "INSERT INTO gate_slots (gate, n) SELECT :gate, n FROM generate_series(1, CAST(:slots AS integer)) AS n "
    "ON CONFLICT DO NOTHING"
)
_MAKE = text(
    "INSERT INTO gate_slots (gate, n) SELECT :gate, n FROM generate_series(1, CAST(:slots AS integer)) AS n "
    "WHERE NOT EXISTS (SELECT FROM gate_slots WHERE gate = :gate) ON CONFLICT DO NOTHING"
)
_READ = text("SELECT count(*), count(job_id) FROM gate_slots WHERE gate = :gate")


def resize(connection: Connection, gate: str, slots: int) -> None:
    """Give a gate so many slots; 0 closes it."""
    connection.execute(_SHRINK, {"gate": gate, "slots": slots})
    connection.execute(_GROW, {"gate": gate, "slots": slots})


def make(connection: Connection, gate: str, slots: int) -> None:
    """Give a gate its slots unless it has some: a size that an operator chose stays."""
    connection.execute(_MAKE, {"gate": gate, "slots": slots})


def fill(connection: Connection, gate: str) -> tuple[int, int]:
    """(slots, slots in use) of a gate."""
    total, used = connection.execute(_READ, {"gate": gate}).one()
    return total, used
