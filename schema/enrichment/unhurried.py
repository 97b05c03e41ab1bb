"""More time for the few statements that write or read a whole definition: tens of MB of JSON take PostgreSQL seconds.

They run once in an import and once at the end of a run, so the snapshots they hold longer than others don't add up.
"""

from sqlalchemy import Connection, text

_UNHURRIED = text("SET LOCAL statement_timeout = '60s'")


def unhurried(connection: Connection) -> None:
    """Give the statements that follow in this transaction a minute each, instead of the usual few seconds."""
    connection.execute(_UNHURRIED)
