"""The versions of a mapping: written once, never changed."""

from typing import Any, Literal, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, Select, insert, select

from base.ids import uuid7
from schema.enrichment.content import MappingContent
from schema.enrichment.tables import mapping_versions as table


class Version(NamedTuple):
    """What a mapping said at one number, and of which definition."""

    number: int
    definition_id: UUID
    content_hash: str
    content: MappingContent


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
            content=version.content.to_json(),
        )
    )


def _select() -> Select[Any]:
    return select(table.c.number, table.c.definition_id, table.c.content_hash, table.c.content)


def _one(connection: Connection, statement: Select[Any]) -> Version | None:
    row = connection.execute(statement).one_or_none()
    if row is None:
        return None
    return Version(row.number, row.definition_id, row.content_hash, MappingContent.model_validate(row.content))
