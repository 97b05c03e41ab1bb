"""The one MetaData of the house, and how a table says that its rows belong to an account."""

from typing import Any

from sqlalchemy import Column, DateTime, MetaData, Table, Uuid
from sqlalchemy.schema import SchemaItem

#: Names are fixed here, so that a migration can name what it changes.
metadata = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    }
)


def account_table(name: str, *items: SchemaItem) -> Table:
    """A table whose rows each belong to one account (I11): `account_id`, and a policy made by its migration."""
    head, *rest = items
    return Table(name, metadata, head, Column("account_id", Uuid, nullable=False), *rest)


def moment(name: str, **options: Any) -> Column[Any]:
    """A column that holds a moment, always with its time zone."""
    return Column(name, DateTime(timezone=True), **options)


def account_tables() -> tuple[str, ...]:
    """The names of all tables that hold account data, the accounts themselves among them."""
    return tuple(sorted(t.name for t in metadata.tables.values() if "account_id" in t.c or t.name == "accounts"))
