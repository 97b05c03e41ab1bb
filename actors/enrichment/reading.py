"""Runs as people look at them: where they stand, and their log."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from actors.enrichment.plan import OVERVIEW
from actors.enrichment.wishes import wishes
from base.errors import NotFound
from ledger.reading import payload as payload_of
from schema.engine import Database
from schema.enrichment import passes, run_views
from schema.enrichment.payloads import EnrichmentPayload, RunWarning
from schema.enrichment.run_views import RunRow, State


@dataclass(frozen=True)
class RunView:
    """A run now. `current` is what it works on, `seen_at` the database's clock when it was looked at."""

    id: UUID
    mapping_id: UUID
    mapping_name: str
    job_id: UUID
    state: State
    #: Given back by a worker, waiting for the next one (E1).
    resuming: bool
    open: bool
    reason: str | None
    error: str | None
    provider: str
    model: str
    targets: tuple[str, ...]
    total_items: int
    processed_items: int
    failed_items: int
    completed_items: int
    input_tokens: int
    output_tokens: int
    total_tokens: int
    #: Some of the tokens are our estimate, not the provider's count.
    usage_estimated: bool
    #: Texts applied by target, and `not_asked`, `unanswered`, `failed`, `stopped`; empty until the run ends.
    counts: Mapping[str, int]
    warnings: tuple[RunWarning, ...]
    current: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    heartbeat_at: datetime | None
    progress_at: datetime | None
    seen_at: datetime


def read_wishes(database: Database, account_id: UUID, run: RunView) -> dict[str, str]:
    """What the run was asked beside its definition, by option; empty when its request is gone."""
    with database.account(account_id) as connection:
        stored = payload_of(connection, run.job_id)
    return {} if stored is None else wishes(EnrichmentPayload.model_validate(stored))


@dataclass(frozen=True)
class PassView:
    """One pass in the child log of a run (E21)."""

    id: UUID
    kind: passes.Kind
    chunk_id: str | None
    status: passes.Status
    attempts: int
    retries: int
    suggestions: Mapping[str, int]
    input_tokens: int
    output_tokens: int
    usage_source: str | None
    error: str | None
    started_at: datetime | None
    finished_at: datetime


def read_run(database: Database, account_id: UUID, run_id: UUID) -> RunView:
    """A run as it stands; one query, meant to be asked often.

    Raises:
        NotFound: the account has no such run.
    """
    with database.account(account_id) as connection:
        row = run_views.one(connection, run_id)
    if row is None:
        raise NotFound(f"There is no run {run_id} in this account. `./longhaul runs list` shows what there is.")
    return _view(row)


def list_runs(
    database: Database,
    account_id: UUID,
    *,
    states: Collection[str] = (),
    mapping: UUID | None = None,
    before: UUID | None = None,
    limit: int = 50,
) -> list[RunView]:
    """Runs, newest first; the next page is `before` the last one's id."""
    with database.account(account_id) as connection:
        wanted = cast("Collection[State]", states)
        rows = run_views.newest(connection, states=wanted, mapping_id=mapping, before=before, limit=limit)
    return [_view(row) for row in rows]


def read_passes(database: Database, account_id: UUID, run_id: UUID) -> list[PassView]:
    """The child log of a run in the order of time."""
    with database.account(account_id) as connection:
        rows: Sequence[Any] = passes.log(connection, run_id)
    return [PassView(**{name: getattr(row, name) for name in PassView.__dataclass_fields__}) for row in rows]


def _view(row: RunRow) -> RunView:
    values = row._asdict()
    for internal in ("definition_id", "mapping_version", "planned", "upcoming"):
        del values[internal]
    values["targets"] = tuple(row.targets)
    values["warnings"] = tuple(RunWarning.model_validate(warning) for warning in row.warnings)
    return RunView(**values, open=row.state in {"Requested", "Processing"}, current=_current(row))


def _current(row: RunRow) -> str:
    if row.state != "Processing" or row.resuming:
        return ""
    if not row.planned:
        return "reading the references"
    if row.upcoming is None:
        return OVERVIEW if row.processed_items < row.total_items else ""
    names = ", ".join(" ".join(key.split("::", 2)[:2]) for key in row.upcoming)
    return f"item {row.processed_items + 1}: {names}"
