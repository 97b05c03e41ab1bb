"""Runs as people see them: with their job while it is open, and with the beat of the worker that holds it."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, Integer, Select, case, false, func, literal_column, select
from sqlalchemy import cast as sql_cast

from schema.enrichment.tables import enrichment_runs, mappings
from schema.ledger.tables import jobs, workers

State = Literal["Requested", "Processing", "Completed", "Canceled", "Failed"]

_IS_PENDING = (enrichment_runs.c.state.is_(None)) & (jobs.c.state == "pending")

# A run never returns to Requested: given back it is Processing and resuming (E1).
_STATE = case(
    (enrichment_runs.c.state.is_not(None), enrichment_runs.c.state),
    (_IS_PENDING & (jobs.c.fence == 0), "Requested"),
    else_="Processing",
)


class RunRow(NamedTuple):
    """A run beside its mapping, its job (absent once that is pruned) and its worker."""

    id: UUID
    mapping_id: UUID
    mapping_name: str
    job_id: UUID
    definition_id: UUID
    mapping_version: int
    state: State
    #: Given back by a worker and waiting for the next one.
    resuming: bool
    reason: str | None
    error: str | None
    provider: str
    model: str
    targets: Sequence[str]
    total_items: int
    processed_items: int
    failed_items: int
    completed_items: int
    input_tokens: int
    output_tokens: int
    total_tokens: int
    usage_estimated: bool
    counts: Mapping[str, int]
    warnings: Sequence[Mapping[str, str]]
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    heartbeat_at: datetime | None
    progress_at: datetime | None
    seen_at: datetime
    #: Whether a plan is there: it is made and the run is open.
    planned: bool
    #: Operation keys of the next chunk in the plan; None before the chunks and behind them.
    upcoming: Sequence[str] | None


def one(connection: Connection, run_id: UUID) -> RunRow | None:
    """A run as it is now; its last heartbeat is its worker's beat while it is held."""
    row = connection.execute(_select().where(enrichment_runs.c.id == run_id)).one_or_none()
    return None if row is None else RunRow(*row)


def selection(connection: Connection, run_id: UUID) -> Sequence[str]:
    """The endpoint GUIDs a run was asked for, as text; empty: all. The run knows, however long its job is gone."""
    found: Sequence[str] | None = connection.execute(
        select(enrichment_runs.c.plan["selected"]).where(enrichment_runs.c.id == run_id)
    ).scalar()
    return found or ()


def newest(
    connection: Connection, *, states: Collection[State], mapping_id: UUID | None, before: UUID | None, limit: int
) -> list[RunRow]:
    """Runs, newest first: those made before the run `before`, in one of the states, or in any if none is given."""
    statement = _select().order_by(enrichment_runs.c.id.desc()).limit(limit)
    if states:
        statement = statement.where(_STATE.in_(states))
    if mapping_id is not None:
        statement = statement.where(enrichment_runs.c.mapping_id == mapping_id)
    if before is not None:
        statement = statement.where(enrichment_runs.c.id < before)
    return [RunRow(*row) for row in connection.execute(statement)]


def _select() -> Select[Any]:
    run = enrichment_runs.c
    held = (jobs.c.id == run.job_id) & run.state.is_(None)
    # Items run in plan order, the overview before the chunks: as many as have ended are behind.
    items = run.plan["items"]
    behind = run.processed_items - sql_cast(items["overview"].as_boolean(), Integer)
    ahead = case((behind >= 0, items["chunks"].op("->")(behind)), else_=None)
    return select(
        run.id,
        run.mapping_id,
        mappings.c.name,
        run.job_id,
        run.definition_id,
        run.mapping_version,
        _STATE,
        func.coalesce(_IS_PENDING & (jobs.c.fence > 0), false()),
        run.reason,
        run.error,
        run.provider,
        run.model,
        run.targets,
        run.total_items,
        run.processed_items,
        run.failed_items,
        run.completed_items,
        run.input_tokens,
        run.output_tokens,
        run.total_tokens,
        run.usage_estimated,
        run.counts,
        run.warnings,
        run.created_at,
        run.started_at,
        run.finished_at,
        func.greatest(run.heartbeat_at, workers.c.beat_at),
        func.coalesce(jobs.c.progress_at, run.heartbeat_at),
        func.clock_timestamp(),
        func.coalesce(run.plan.has_key("items"), false()),
        func.jsonb_path_query_array(ahead, literal_column("'$.operations[*].key'")),
    ).select_from(
        enrichment_runs.join(mappings, mappings.c.id == run.mapping_id)
        .outerjoin(jobs, held)
        .outerjoin(workers, workers.c.id == jobs.c.worker_id)
    )
