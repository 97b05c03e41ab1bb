"""The ledger's tables: a narrow hot row per job, its wide cold body, what went wrong, who lives, what is limited; and
what the house knows of itself: its sweeps, what it learned, what a person should see.

insert ──> pending ──claim──> running ──complete──> done
              ^                  │ ├────fail──────> failed
              └─retry, handover,─┘ └───cancel─────> canceled     (a pending job can be canceled too)
                reap
"""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from schema.metadata import account_table, metadata, moment

#: Longest error kept on a row, in characters; the ledger cuts to it.
ERROR_LENGTH = 500

#: Space left in each page lets a progress update stay in it, without touching an index.
_FILLFACTOR = 80

jobs = account_table(
    "jobs",
    Column("id", Uuid, primary_key=True),
    Column("task", Text, nullable=False),
    Column("lane", Text, nullable=False),
    # The task, and '@' and its gate where it has one. Compared bytewise: the claim steps from bucket to bucket.
    Column("bucket", Text(collation="C"), nullable=False),
    Column("priority", Integer, nullable=False),
    Column("turn", BigInteger, nullable=False, server_default=text("0")),
    Column("key", Text),
    Column("state", Text, nullable=False, server_default="pending"),
    Column("ready", Boolean, nullable=False),
    Column("reason", Text),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("max_attempts", Integer),
    Column("recoveries", Integer, nullable=False, server_default=text("0")),
    Column("max_recoveries", Integer),
    Column("fence", BigInteger, nullable=False, server_default=text("0")),
    Column("worker_id", Uuid),
    moment("created_at", nullable=False, server_default=func.clock_timestamp()),
    moment("due_at", nullable=False, server_default=func.clock_timestamp()),
    moment("started_at"),
    moment("progress_at"),
    Column("done_items", Integer),
    Column("total_items", Integer),
    moment("finished_at"),
    Column("error", String(ERROR_LENGTH)),
    # Two and not a dozen: a server prepares each anew for every statement that writes a job.
    CheckConstraint(
        "CASE state "
        "WHEN 'pending' THEN coalesce(started_at, progress_at, finished_at) IS NULL AND worker_id IS NULL "
        "WHEN 'running' THEN started_at IS NOT NULL AND progress_at IS NOT NULL AND finished_at IS NULL "
        "AND worker_id IS NOT NULL AND ready "
        "WHEN 'done' THEN finished_at IS NOT NULL "
        "WHEN 'failed' THEN finished_at IS NOT NULL AND reason IS NOT NULL AND error IS NOT NULL "
        "WHEN 'canceled' THEN finished_at IS NOT NULL AND reason IS NOT NULL "
        "ELSE false END",
        name="state_and_times_agree",
    ),
    CheckConstraint(
        "attempts >= 0 AND recoveries >= 0 AND attempts <= fence AND CASE WHEN max_recoveries IS NULL "
        "THEN max_attempts IS NOT NULL AND max_attempts >= 1 AND attempts <= max_attempts "
        "ELSE max_attempts IS NULL AND recoveries <= max_recoveries END",
        name="counts_are_within_one_limit",
    ),
    # The one index that serves the claim, in the order of the claim.
    Index(
        "jobs_claim_idx",
        "lane",
        "bucket",
        "priority",
        "turn",
        "created_at",
        "id",
        postgresql_where=text("state = 'pending' AND ready"),
    ),
    Index("jobs_due_idx", "lane", "due_at", postgresql_where=text("state = 'pending' AND NOT ready")),
    Index("jobs_held_idx", "worker_id", postgresql_where=text("state = 'running'")),
    Index(
        "jobs_open_key_idx",
        "account_id",
        "key",
        unique=True,
        postgresql_where=text("key IS NOT NULL AND state IN ('pending', 'running')"),
    ),
    Index("jobs_account_idx", "account_id", "id"),
)

job_bodies = account_table(
    "job_bodies",
    Column("job_id", Uuid, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("payload", JSONB, nullable=False),
    Column("result", JSONB),
    Column("reduced", Boolean, nullable=False, server_default=text("false")),
)

#: One row per attempt that did not simply succeed. Appended, never changed.
job_attempts = account_table(
    "job_attempts",
    Column("id", Uuid, primary_key=True),
    Column("job_id", Uuid, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("fence", BigInteger, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("worker_id", Uuid),
    Column("outcome", Text, nullable=False),
    Column("reason", Text),
    Column("error", String(ERROR_LENGTH)),
    moment("started_at"),
    moment("ended_at", nullable=False, server_default=func.clock_timestamp()),
    CheckConstraint("outcome IN ('retried', 'failed', 'handed_over', 'reaped', 'canceled')", name="outcome_known"),
)

#: One row per process that ever took jobs: a fresh id at each start, so that nobody vouches for a predecessor.
workers = Table(
    "workers",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("host", Text, nullable=False),
    Column("boot_id", Text),
    Column("pid_namespace", BigInteger),
    Column("pid", Integer, nullable=False),
    # Field 22 of the process's stat: clock ticks after boot.
    Column("start_ticks", BigInteger),
    Column("lanes", ARRAY(Text), nullable=False),
    Column("tasks", ARRAY(Text), nullable=False),
    moment("started_at", nullable=False, server_default=func.clock_timestamp()),
    moment("beat_at", nullable=False, server_default=func.clock_timestamp()),
    moment("retired_at"),
)

#: A gate of n has n rows; a row without a job is a free slot. A gate without rows lets nothing through.
gate_slots = Table(
    "gate_slots",
    metadata,
    Column("gate", Text, primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("job_id", Uuid),
    CheckConstraint("n >= 1", name="n_counts_from_one"),
    Index("gate_slots_job_id_idx", "job_id", unique=True, postgresql_where=text("job_id IS NOT NULL")),
)

#: One row per sweep: when it last began, and since when it holds back, for whichever process sweeps next.
sweeps = Table(
    "sweeps",
    metadata,
    Column("name", Text, primary_key=True),
    moment("began_at", nullable=False),
    moment("held_back_since"),
)

#: What was learned about the outside world, and by no setting.
observations = Table(
    "observations",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", BigInteger, nullable=False),
    moment("noted_at", nullable=False, server_default=func.clock_timestamp()),
)

#: What a person should see. Of one source and cause one is open, and counts; acknowledged, it stays as it was.
alerts = Table(
    "alerts",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("source", Text, nullable=False),
    Column("cause", Text, nullable=False),
    Column("severity", Text, nullable=False),
    Column("text", String(ERROR_LENGTH), nullable=False),
    Column("count", Integer, nullable=False, server_default=text("1")),
    moment("first_at", nullable=False, server_default=func.clock_timestamp()),
    moment("last_at", nullable=False, server_default=func.clock_timestamp()),
    moment("acknowledged_at"),
    Column("acknowledged_by", Text),
    CheckConstraint("severity IN ('warning', 'critical')", name="severity_known"),
    CheckConstraint("(acknowledged_at IS NULL) = (acknowledged_by IS NULL)", name="acknowledged_by_somebody"),
    CheckConstraint("count >= 1", name="count_counts_from_one"),
    Index("alerts_open_idx", "source", "cause", unique=True, postgresql_where=text("acknowledged_at IS NULL")),
)

#: What SQLAlchemy can't say of a table; the migration says it, and a test compares.
STORAGE = {
    "jobs": {
        "fillfactor": str(_FILLFACTOR),
        # Dead rows at the head of the claim index are what slows a queue: vacuum early and quickly.
        "autovacuum_vacuum_scale_factor": "0.01",
        "autovacuum_vacuum_cost_delay": "0",
        "autovacuum_analyze_scale_factor": "0.02",
    },
    "gate_slots": {"fillfactor": "50"},
    "workers": {"fillfactor": "50"},
}
