"""Enrichment runs: asked for, begun, counted, ended. While its job is open the job's state is the run's (E1)."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, func, insert, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import JSONB

from schema.enrichment.payloads import RunWarning
from schema.enrichment.tables import enrichment_runs as table
from schema.ledger.tables import workers

EndState = Literal["Completed", "Canceled", "Failed"]


class Run(NamedTuple):
    """What a run was asked to do and to what."""

    id: UUID
    mapping_id: UUID
    job_id: UUID
    definition_id: UUID
    mapping_version: int
    request_hash: str
    state: EndState | None = None
    processed_items: int = 0
    completed_items: int = 0
    total_items: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usage_estimated: bool = False


class Tally(NamedTuple):
    """Items of a run: ended, ended badly, ended well (E2)."""

    processed: int
    failed: int
    completed: int


def create(
    connection: Connection,
    account_id: UUID,
    run: Run,
    *,
    provider: str,
    model: str,
    targets: Sequence[str],
    selected: Sequence[UUID],
) -> None:
    """The row of a run, before its job is enqueued (E1). State and counts begin empty.

    `selected` are the endpoints asked for; empty means all.
    """
    connection.execute(
        insert(table).values(
            id=run.id,
            account_id=account_id,
            mapping_id=run.mapping_id,
            job_id=run.job_id,
            definition_id=run.definition_id,
            mapping_version=run.mapping_version,
            request_hash=run.request_hash,
            provider=provider,
            model=model,
            targets=list(targets),
            plan={"selected": [str(one) for one in selected]},
        )
    )


def by_id(connection: Connection, run_id: UUID) -> Run | None:
    """The run of that id, if it is this account's."""
    return _one(connection, _select().where(table.c.id == run_id))


def of_job(connection: Connection, job_id: UUID) -> Run | None:
    """The run a job works on."""
    return _one(connection, _select().where(table.c.job_id == job_id))


def begin(connection: Connection, run_id: UUID, *, provider: str, model: str) -> None:
    """Note who answers and when the first claim began; a resumed run keeps its start."""
    now = func.clock_timestamp()
    _update(
        connection,
        run_id,
        provider=provider,
        model=model,
        started_at=func.coalesce(table.c.started_at, now),
        heartbeat_at=now,
    )


def course(connection: Connection, run_id: UUID) -> Mapping[str, Any]:
    """What a resumed run goes by, as far as it was kept: `selected`, `terms` and `items` (D5)."""
    found: Mapping[str, Any] | None = connection.execute(select(table.c.plan).where(table.c.id == run_id)).scalar()
    return found or {}


def keep_terms(connection: Connection, run_id: UUID, terms: Mapping[str, Any]) -> None:
    """Keep the settings that shape what a run asks."""
    _update(connection, run_id, plan=_course_with("terms", terms))


def keep_items(connection: Connection, run_id: UUID, items: Mapping[str, Any], *, total_items: int) -> None:
    """Keep the plan of a run."""
    _update(connection, run_id, plan=_course_with("items", items), total_items=total_items)


def spend(connection: Connection, run_id: UUID, *, input_tokens: int, output_tokens: int, estimated: bool) -> None:
    """Add what a pass cost, in the transaction that writes its row."""
    _update(
        connection,
        run_id,
        input_tokens=table.c.input_tokens + input_tokens,
        output_tokens=table.c.output_tokens + output_tokens,
        total_tokens=table.c.total_tokens + input_tokens + output_tokens,
        usage_estimated=table.c.usage_estimated | estimated,
        heartbeat_at=func.clock_timestamp(),
    )


def tally(connection: Connection, run_id: UUID, items: Tally) -> None:
    """Note how many items have ended, and how."""
    _update(
        connection,
        run_id,
        processed_items=items.processed,
        failed_items=items.failed,
        completed_items=items.completed,
        heartbeat_at=func.clock_timestamp(),
    )


def conclude(
    connection: Connection, run_id: UUID, *, counts: Mapping[str, int], warnings: Sequence[RunWarning]
) -> None:
    """Note what a run suggested and what an operator should know of it."""
    _update(connection, run_id, counts=counts, warnings=[warning.model_dump() for warning in warnings])


def end(
    connection: Connection,
    run_id: UUID,
    *,
    state: EndState,
    reason: str | None,
    error: str | None,
    worker_id: UUID | None,
) -> None:
    """Write the end of a run, in the transaction that ends its job (E2), and forget its plan but for the selection.

    The last beat of the worker that held it becomes the run's last heartbeat.
    """
    beat = select(workers.c.beat_at).where(workers.c.id == worker_id).scalar_subquery()
    _update(
        connection,
        run_id,
        state=state,
        reason=reason,
        error=error,
        plan=func.jsonb_build_object("selected", table.c.plan["selected"]),
        heartbeat_at=func.greatest(table.c.heartbeat_at, beat),
        finished_at=func.clock_timestamp(),
    )


def _course_with(part: str, value: Mapping[str, Any]) -> ColumnElement[Any]:
    """The course of a run with one part of it renewed."""
    kept = func.coalesce(table.c.plan, sql_cast({}, JSONB))
    return kept.op("||")(sql_cast({part: value}, JSONB))


def _update(connection: Connection, run_id: UUID, **values: Any) -> None:
    connection.execute(update(table).where(table.c.id == run_id).values(**values))


def _select() -> Select[Any]:
    columns = table.c
    return select(
        columns.id,
        columns.mapping_id,
        columns.job_id,
        columns.definition_id,
        columns.mapping_version,
        columns.request_hash,
        columns.state,
        columns.processed_items,
        columns.completed_items,
        columns.total_items,
        columns.input_tokens,
        columns.output_tokens,
        columns.usage_estimated,
    )


def _one(connection: Connection, statement: Select[Any]) -> Run | None:
    row = connection.execute(statement).one_or_none()
    return None if row is None else Run(*row)
