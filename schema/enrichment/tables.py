"""Enrichment's tables: imported definitions, mappings with their versions, runs, and the passes of a run.

A run's row holds no second state while its job is open; the transaction that ends the job writes the final one.
A pass's row is its log entry and its checkpoint: clearing a checkpoint empties `answer`, the log entry stays (E30).
"""

from sqlalchemy import (
    ARRAY,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.schema import SchemaItem

from schema.metadata import account_table, moment


def _of_an_account(name: str, *items: SchemaItem) -> Table:
    """Ids are unique with their account too: a reference can't lead into another account."""
    return account_table(
        name,
        Column("id", Uuid, primary_key=True),
        *items,
        ForeignKeyConstraint(["account_id"], ["accounts.id"]),
        UniqueConstraint("account_id", "id"),
    )


def _to(column: str, table: str, *, ondelete: str | None = None) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["account_id", column], [f"{table}.account_id", f"{table}.id"], ondelete=ondelete)


def _count(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default=text("0"))


def _counts(*names: str) -> CheckConstraint:
    return CheckConstraint(" AND ".join(f"{name} >= 0" for name in names), name="counts_are_counts")


def _json(name: str, empty: str) -> Column[object]:
    return Column(name, JSONB, nullable=False, server_default=text(f"'{empty}'::jsonb"))


api_definitions = _of_an_account(
    "api_definitions",
    Column("name", Text, nullable=False),
    # SHA-256 of the bytes as imported, in hex.
    Column("content_hash", Text, nullable=False),
    Column("media", Text, nullable=False),
    Column("spec_version", Text, nullable=False),
    Column("document", LargeBinary, nullable=False),
    Column("inventory", JSONB, nullable=False),
    moment("created_at", nullable=False, server_default=func.clock_timestamp()),
    CheckConstraint("media IN ('json', 'yaml')", name="media_known"),
    CheckConstraint("content_hash ~ '^[0-9a-f]{64}$'", name="content_hash_is_sha256"),
    UniqueConstraint("account_id", "content_hash"),
)

mappings = _of_an_account(
    "mappings",
    Column("definition_id", Uuid, nullable=False),
    Column("name", Text, nullable=False),
    Column("status", Text, nullable=False, server_default="Draft"),
    Column("status_before", Text),
    Column("enriching_run_id", Uuid),
    Column("current_version", Integer, nullable=False),
    moment("created_at", nullable=False, server_default=func.clock_timestamp()),
    moment("updated_at", nullable=False, server_default=func.clock_timestamp()),
    CheckConstraint("status IN ('Draft', 'Ready', 'Enriching')", name="status_known"),
    CheckConstraint("status_before IN ('Draft', 'Ready')", name="status_before_known"),
    CheckConstraint(
        "(status = 'Enriching') = (enriching_run_id IS NOT NULL) "
        "AND (status = 'Enriching') = (status_before IS NOT NULL)",
        name="enriching_knows_its_run",
    ),
    _to("definition_id", "api_definitions"),
    Index("mappings_account_id_definition_id_idx", "account_id", "definition_id"),
)

mapping_versions = _of_an_account(
    "mapping_versions",
    Column("mapping_id", Uuid, nullable=False),
    Column("number", Integer, nullable=False),
    Column("definition_id", Uuid, nullable=False),
    Column("content_hash", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("run_id", Uuid),
    Column("content", JSONB, nullable=False),
    moment("created_at", nullable=False, server_default=func.clock_timestamp()),
    CheckConstraint("number >= 1", name="number_counts_from_one"),
    CheckConstraint("origin IN ('import', 'enrichment', 'person')", name="origin_known"),
    CheckConstraint("(origin = 'enrichment') = (run_id IS NOT NULL)", name="enrichment_knows_its_run"),
    UniqueConstraint("mapping_id", "number"),
    _to("mapping_id", "mappings", ondelete="CASCADE"),
    _to("definition_id", "api_definitions"),
)

enrichment_runs = _of_an_account(
    "enrichment_runs",
    Column("mapping_id", Uuid, nullable=False),
    # No foreign key: the run outlives its job's row (E2).
    Column("job_id", Uuid, nullable=False, unique=True),
    Column("definition_id", Uuid, nullable=False),
    Column("mapping_version", Integer, nullable=False),
    Column("request_hash", Text, nullable=False),
    Column("provider", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("targets", ARRAY(Text), nullable=False),
    # Empty while the job is open: then the job's state is the run's (E1).
    Column("state", Text),
    Column("reason", Text),
    Column("error", Text),
    _count("total_items"),
    _count("processed_items"),
    _count("failed_items"),
    _count("completed_items"),
    _json("counts", "{}"),
    _count("input_tokens"),
    _count("output_tokens"),
    _count("total_tokens"),
    Column("usage_estimated", Boolean, nullable=False, server_default=text("false")),
    _json("warnings", "[]"),
    Column("plan", JSONB),
    moment("created_at", nullable=False, server_default=func.clock_timestamp()),
    moment("started_at"),
    moment("finished_at"),
    moment("heartbeat_at"),
    _counts(
        "total_items",
        "processed_items",
        "failed_items",
        "completed_items",
        "input_tokens",
        "output_tokens",
        "total_tokens",
    ),
    CheckConstraint("state IN ('Completed', 'Canceled', 'Failed')", name="state_known"),
    CheckConstraint("(state IS NULL) = (finished_at IS NULL)", name="ended_has_an_end"),
    CheckConstraint("state IS DISTINCT FROM 'Failed' OR error IS NOT NULL", name="failed_says_why"),
    _to("mapping_id", "mappings", ondelete="CASCADE"),
    _to("definition_id", "api_definitions"),
    Index("enrichment_runs_mapping_id_idx", "mapping_id", "id"),
    # A mapping has one open run at a time (E5).
    Index("enrichment_runs_open_idx", "mapping_id", unique=True, postgresql_where=text("state IS NULL")),
)

enrichment_passes = _of_an_account(
    "enrichment_passes",
    Column("run_id", Uuid, nullable=False),
    # The identity of what was asked: run, kind, operations, hash of model, prompt and schema (D5).
    Column("pass_key", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("chunk_id", Text),
    Column("status", Text, nullable=False),
    Column("attempts", Integer, nullable=False, server_default=text("1")),
    _count("retries"),
    Column("prompt", Text, nullable=False),
    Column("raw_output", Text),
    # The checkpoint: validated, so a resumed run need not ask again (I7, E29).
    Column("answer", JSONB(none_as_null=True)),
    _json("suggestions", "{}"),
    _count("input_tokens"),
    _count("output_tokens"),
    Column("usage_source", Text),
    Column("error", Text),
    moment("started_at"),
    moment("finished_at", nullable=False, server_default=func.clock_timestamp()),
    CheckConstraint("kind IN ('digest', 'overview', 'chunk')", name="kind_known"),
    CheckConstraint("status IN ('completed', 'failed', 'split')", name="status_known"),
    _counts("attempts", "retries", "input_tokens", "output_tokens"),
    _to("run_id", "enrichment_runs", ondelete="CASCADE"),
    Index("enrichment_passes_run_id_idx", "run_id", "id"),
    Index(
        "enrichment_passes_checkpoint_idx",
        "run_id",
        "pass_key",
        unique=True,
        postgresql_where=text("answer IS NOT NULL"),
    ),
)
