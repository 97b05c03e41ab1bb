"""Accounts: the tenants every row belongs to."""

from uuid import UUID

from sqlalchemy import Column, Table, Text, Uuid, func, text

from base.ids import uuid7
from schema.engine import Database
from schema.metadata import metadata, moment

#: The account every command uses.
DEFAULT = "default"

accounts = Table(
    "accounts",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    moment("created_at", nullable=False, server_default=func.clock_timestamp()),
)

_INSERT = text("INSERT INTO accounts (id, name) VALUES (:id, :name) ON CONFLICT (name) DO NOTHING")
_FIND = text("SELECT id FROM accounts WHERE name = :name")


def account(database: Database, name: str) -> UUID:
    """The id of the account of that name, made on first use."""
    with database.engine() as connection:
        found: UUID | None = connection.execute(_FIND, {"name": name}).scalar()
        if found is None:
            connection.execute(_INSERT, {"id": uuid7(), "name": name})
            # Read again: another process may have made it in between.
            found = connection.execute(_FIND, {"name": name}).scalar_one()
        return found


def default_account(database: Database) -> UUID:
    """The id of the account `default`, made on first use."""
    return account(database, DEFAULT)
