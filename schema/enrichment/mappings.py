"""Mappings: which definition they describe, which version is theirs, and which run holds them (E5, E8)."""

from typing import Any, Literal, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, Select, func, insert, select, update

from base.ids import uuid7
from schema.enrichment.tables import mappings as table

Status = Literal["Draft", "Ready", "Enriching"]


class Mapping(NamedTuple):
    """One mapping as it stands."""

    id: UUID
    definition_id: UUID
    name: str
    status: Status
    enriching_run_id: UUID | None
    current_version: int


def by_id(connection: Connection, mapping_id: UUID) -> Mapping | None:
    """The mapping of that id, if it is this account's."""
    return _one(connection, _select().where(table.c.id == mapping_id))


def held(connection: Connection, mapping_id: UUID) -> Mapping | None:
    """The same, its row locked until the transaction ends: nobody else takes or moves it meanwhile."""
    return _one(connection, _select().where(table.c.id == mapping_id).with_for_update())


def of_definition(connection: Connection, definition_id: UUID) -> Mapping | None:
    """The oldest mapping that describes this definition now."""
    return _one(connection, _select().where(table.c.definition_id == definition_id).order_by(table.c.id).limit(1))


def named(connection: Connection, name: str) -> list[Mapping]:
    """Mappings of that name, newest first; names need not be unique."""
    rows = connection.execute(_select().where(table.c.name == name).order_by(table.c.id.desc()))
    return [Mapping(*row) for row in rows]


def create(connection: Connection, account_id: UUID, *, definition_id: UUID, name: str) -> UUID:
    """A new mapping in `Draft`, whose version 1 is written beside it."""
    mapping_id = uuid7()
    connection.execute(
        insert(table).values(
            id=mapping_id, account_id=account_id, definition_id=definition_id, name=name, current_version=1
        )
    )
    return mapping_id


def move(connection: Connection, mapping_id: UUID, *, version: int, definition_id: UUID) -> None:
    """Make a version, just written, the current one."""
    _update(connection, mapping_id, current_version=version, definition_id=definition_id)


def take(connection: Connection, mapping_id: UUID, run_id: UUID) -> None:
    """Give the mapping to a run: `Enriching`, with the status it returns to (E5). Its row is `held` and free."""
    _update(connection, mapping_id, status="Enriching", status_before=table.c.status, enriching_run_id=run_id)


def release(connection: Connection, mapping_id: UUID, run_id: UUID, *, enriched: bool) -> None:
    """Let go of the mapping: `Draft` when the run ended well, else as it was; only while it is this run's (E8)."""
    connection.execute(
        update(table)
        .where(table.c.id == mapping_id, table.c.enriching_run_id == run_id)
        .values(
            status="Draft" if enriched else table.c.status_before,
            status_before=None,
            enriching_run_id=None,
            updated_at=func.clock_timestamp(),
        )
    )


def _update(connection: Connection, mapping_id: UUID, **values: Any) -> None:
    connection.execute(
        update(table).where(table.c.id == mapping_id).values(updated_at=func.clock_timestamp(), **values)
    )


def _select() -> Select[Any]:
    columns = table.c
    return select(
        columns.id,
        columns.definition_id,
        columns.name,
        columns.status,
        columns.enriching_run_id,
        columns.current_version,
    )


def _one(connection: Connection, statement: Select[Any]) -> Mapping | None:
    row = connection.execute(statement).one_or_none()
    return None if row is None else Mapping(*row)
