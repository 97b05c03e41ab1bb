"""Imported API definitions: the bytes, their hash, and the inventory walked out of them."""

from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, Select, select
from sqlalchemy.dialects.postgresql import insert as upsert

from base.ids import uuid7
from schema.enrichment.tables import api_definitions as table
from schema.enrichment.unhurried import unhurried


class Definition(NamedTuple):
    """A definition without its bytes; `inventory` is stored JSON and may be of another version's shape."""

    id: UUID
    name: str
    content_hash: str
    inventory: dict[str, Any]


class Document(NamedTuple):
    """The bytes as imported, under the name they came with."""

    name: str
    data: bytes


def by_hash(connection: Connection, content_hash: str) -> Definition | None:
    """The definition made of exactly these bytes."""
    return _one(connection, _select().where(table.c.content_hash == content_hash))


def held(connection: Connection, content_hash: str) -> UUID | None:
    """The id of the definition made of these bytes, its row locked until the transaction ends."""
    found: UUID | None = connection.execute(
        select(table.c.id).where(table.c.content_hash == content_hash).with_for_update()
    ).scalar()
    return found


def by_id(connection: Connection, definition_id: UUID) -> Definition | None:
    """The definition of that id."""
    return _one(connection, _select().where(table.c.id == definition_id))


def document(connection: Connection, definition_id: UUID) -> Document | None:
    """The bytes of a definition."""
    unhurried(connection)
    row = connection.execute(select(table.c.name, table.c.document).where(table.c.id == definition_id)).one_or_none()
    return None if row is None else Document(*row)


def store(
    connection: Connection,
    account_id: UUID,
    *,
    name: str,
    content_hash: str,
    media: str,
    spec_version: str,
    document: bytes,
    inventory: dict[str, Any],
) -> UUID:
    """Keep a definition once: the same bytes of one account are one row, whoever imports them at the same moment."""
    unhurried(connection)
    values = {
        "account_id": account_id,
        "name": name,
        "content_hash": content_hash,
        "media": media,
        "spec_version": spec_version,
        "document": document,
        "inventory": inventory,
    }
    statement = (
        upsert(table)
        .values(id=uuid7(), **values)
        .on_conflict_do_update(index_elements=["account_id", "content_hash"], set_={"inventory": inventory})
        .returning(table.c.id)
    )
    stored: UUID = connection.execute(statement).scalar_one()
    return stored


def _select() -> Select[Any]:
    return select(table.c.id, table.c.name, table.c.content_hash, table.c.inventory)


def _one(connection: Connection, statement: Select[Any]) -> Definition | None:
    unhurried(connection)
    row = connection.execute(statement).one_or_none()
    return None if row is None else Definition(*row)
