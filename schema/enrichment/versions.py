"""The versions of a mapping: written once, never changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import Connection, Select, insert, select

from base.ids import uuid7
from schema.enrichment.content import MappingContent
from schema.enrichment.tables import mapping_versions as table
from schema.enrichment.unhurried import unhurried


@dataclass(frozen=True)
class Version:
    """What a mapping said at one number, and of which definition.

    `stored` is read inside a transaction, `content` is made of it when it is first asked for: that takes seconds for a
    large mapping, too long for a transaction to wait. Ask after it has ended.
    """

    number: int
    definition_id: UUID
    content_hash: str
    stored: Mapping[str, object]

    @cached_property
    def content(self) -> MappingContent:
        """All its texts."""
        return MappingContent.model_validate(self.stored)


def by_number(connection: Connection, mapping_id: UUID, number: int) -> Version | None:
    """One version of a mapping."""
    return _one(connection, _select().where(table.c.mapping_id == mapping_id, table.c.number == number))


def of_run(connection: Connection, run_id: UUID) -> Version | None:
    """The version a run wrote, if it wrote one."""
    return _one(connection, _select().where(table.c.run_id == run_id))


def write(
    connection: Connection,
    account_id: UUID,
    mapping_id: UUID,
    version: Version,
    *,
    origin: Literal["import", "enrichment", "person"],
    run_id: UUID | None = None,
) -> None:
    """Add a version; two writers of the same number are refused by the table."""
    unhurried(connection)
    connection.execute(
        insert(table).values(
            id=uuid7(),
            account_id=account_id,
            mapping_id=mapping_id,
            number=version.number,
            definition_id=version.definition_id,
            content_hash=version.content_hash,
            origin=origin,
            run_id=run_id,
            content=version.stored,
        )
    )


def _select() -> Select[Any]:
    return select(table.c.number, table.c.definition_id, table.c.content_hash, table.c.content)


def _one(connection: Connection, statement: Select[Any]) -> Version | None:
    unhurried(connection)
    row = connection.execute(statement).one_or_none()
    if row is None:
        return None
    return Version(row.number, row.definition_id, row.content_hash, row.content)
