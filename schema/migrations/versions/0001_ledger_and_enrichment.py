"""The ledger, the accounts and enrichment: tables, roles, policies, grants.

Revision: 0001.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

#: The account whose scope the transaction is in; nothing outside of one.
ACCOUNT = "nullif(current_setting('longhaul.account_id', true), '')::uuid"

ENGINE = "longhaul_engine"
APP = "longhaul_app"

#: Rights by table. The engine changes what a claim and the promotion of a due job change, and reads a job's body only
#: inside its account. Nobody deletes.
GRANTS = {
    ENGINE: {
        "accounts": "SELECT, INSERT",
        "jobs": "SELECT, UPDATE (state, ready, attempts, fence, worker_id, started_at, progress_at)",
        "job_bodies": "SELECT",
        "workers": "SELECT, INSERT, UPDATE",
        "gate_slots": "SELECT, INSERT, UPDATE, DELETE",
        "alembic_version": "SELECT",
    },
    APP: {
        "accounts": "SELECT",
        "jobs": "SELECT, INSERT, UPDATE",
        "job_bodies": "SELECT, INSERT, UPDATE",
        "job_attempts": "SELECT, INSERT",
        "workers": "SELECT",
        "gate_slots": "SELECT, UPDATE (job_id)",
        "alembic_version": "SELECT",
        "api_definitions": "SELECT, INSERT, UPDATE",
        "mappings": "SELECT, INSERT, UPDATE",
        "mapping_versions": "SELECT, INSERT",
        "enrichment_runs": "SELECT, INSERT, UPDATE",
        "enrichment_passes": "SELECT, INSERT, UPDATE",
    },
}

#: Who sees which rows of an account table; a role that is not named sees none.
POLICIES = {
    "accounts": {APP: f"id = {ACCOUNT}", ENGINE: "true"},
    "jobs": {APP: f"account_id = {ACCOUNT}", ENGINE: "true"},
    "job_bodies": {APP: f"account_id = {ACCOUNT}", ENGINE: f"account_id = {ACCOUNT}"},
    "job_attempts": {APP: f"account_id = {ACCOUNT}"},
    "api_definitions": {APP: f"account_id = {ACCOUNT}"},
    "mappings": {APP: f"account_id = {ACCOUNT}"},
    "mapping_versions": {APP: f"account_id = {ACCOUNT}"},
    "enrichment_runs": {APP: f"account_id = {ACCOUNT}"},
    "enrichment_passes": {APP: f"account_id = {ACCOUNT}"},
}

STORAGE = {
    "jobs": "fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0, "
    "autovacuum_analyze_scale_factor = 0.02",
    "gate_slots": "fillfactor = 50",
    "workers": "fillfactor = 50",
}


def upgrade() -> None:
    _tables()
    for table, parameters in STORAGE.items():
        op.execute(f"ALTER TABLE {table} SET ({parameters})")
    for role in (ENGINE, APP):
        _role(role)
        op.execute(f"GRANT USAGE ON SCHEMA public TO {role}")
    for role, grants in GRANTS.items():
        for table, rights in grants.items():
            op.execute(f"GRANT {rights} ON {table} TO {role}")
    for table, policies in POLICIES.items():
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        # The owner too: whoever connects as it by mistake reads nothing.
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        for role, rows in policies.items():
            name = role.removeprefix("longhaul_")
            op.execute(f"CREATE POLICY {name} ON {table} TO {role} USING ({rows}) WITH CHECK ({rows})")


def downgrade() -> None:
    for table in ("enrichment_passes", "enrichment_runs", "mapping_versions", "mappings", "api_definitions",
                  "job_bodies", "job_attempts", "jobs", "gate_slots", "workers", "accounts"):
        op.drop_table(table)
    # The roles stay: other databases of the server may use them.


def _role(name: str) -> None:
    # Roles belong to the whole server: another database's migration may make them at this moment.
    op.execute(
        f"""
        DO $$ BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{name}') THEN
                CREATE ROLE {name} NOLOGIN;
            END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
        END $$
        """
    )


def _tables() -> None:
    op.create_table('accounts',
        sa.Column('id', sa.Uuid(), nullable=False),
        sa.Column('name', sa.Text(), nullable=False),
        sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
        sa.PrimaryKeyConstraint('id', name='accounts_pkey'),
        sa.UniqueConstraint('name', name='accounts_name_key')
    )
    op.create_table('gate_slots',
        sa.Column('gate', sa.Text(), nullable=False),
        sa.Column('n', sa.Integer(), nullable=False),
        sa.Column('job_id', sa.Uuid(), nullable=True),
        sa.CheckConstraint('n >= 1', name=op.f('gate_slots_n_counts_from_one')),
        sa.PrimaryKeyConstraint('gate', 'n', name='gate_slots_pkey')
    )
    op.create_index('gate_slots_job_id_idx', 'gate_slots', ['job_id'], unique=True, postgresql_where=sa.text('job_id IS NOT NULL'))
    op.create_table('jobs',
        sa.Column('id', sa.Uuid(), nullable=False),
        sa.Column('account_id', sa.Uuid(), nullable=False),
        sa.Column('task', sa.Text(), nullable=False),
        sa.Column('lane', sa.Text(), nullable=False),
        sa.Column('bucket', sa.Text(collation='C'), nullable=False),
        sa.Column('priority', sa.Integer(), nullable=False),
        sa.Column('turn', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
        sa.Column('key', sa.Text(), nullable=True),
        sa.Column('state', sa.Text(), server_default='pending', nullable=False),
        sa.Column('ready', sa.Boolean(), nullable=False),
        sa.Column('reason', sa.Text(), nullable=True),
        sa.Column('attempts', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('max_attempts', sa.Integer(), nullable=True),
        sa.Column('recoveries', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('max_recoveries', sa.Integer(), nullable=True),
        sa.Column('fence', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
        sa.Column('worker_id', sa.Uuid(), nullable=True),
        sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
        sa.Column('due_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
        sa.Column('started_at', sa.DateTime(timezone=True), nullable=True),
        sa.Column('progress_at', sa.DateTime(timezone=True), nullable=True),
        sa.Column('done_items', sa.Integer(), nullable=True),
        sa.Column('total_items', sa.Integer(), nullable=True),
        sa.Column('finished_at', sa.DateTime(timezone=True), nullable=True),
        sa.Column('error', sa.String(length=500), nullable=True),
        sa.CheckConstraint('attempts >= 0 AND recoveries >= 0 AND attempts <= fence AND CASE WHEN max_recoveries IS NULL THEN max_attempts IS NOT NULL AND max_attempts >= 1 AND attempts <= max_attempts ELSE max_attempts IS NULL AND recoveries <= max_recoveries END', name=op.f('jobs_counts_are_within_one_limit')),
        sa.CheckConstraint("CASE state WHEN 'pending' THEN coalesce(started_at, progress_at, finished_at) IS NULL AND worker_id IS NULL WHEN 'running' THEN started_at IS NOT NULL AND progress_at IS NOT NULL AND finished_at IS NULL AND worker_id IS NOT NULL AND ready WHEN 'done' THEN finished_at IS NOT NULL WHEN 'failed' THEN finished_at IS NOT NULL AND reason IS NOT NULL AND error IS NOT NULL WHEN 'canceled' THEN finished_at IS NOT NULL AND reason IS NOT NULL ELSE false END", name=op.f('jobs_state_and_times_agree')),
        sa.PrimaryKeyConstraint('id', name='jobs_pkey')
    )
    op.create_index('jobs_account_idx', 'jobs', ['account_id', 'id'], unique=False)
    op.create_index('jobs_claim_idx', 'jobs', ['lane', 'bucket', 'priority', 'turn', 'created_at', 'id'], unique=False, postgresql_where=sa.text("state = 'pending' AND ready"))
    op.create_index('jobs_due_idx', 'jobs', ['lane', 'due_at'], unique=False, postgresql_where=sa.text("state = 'pending' AND NOT ready"))
    op.create_index('jobs_held_idx', 'jobs', ['worker_id'], unique=False, postgresql_where=sa.text("state = 'running'"))
    op.create_index('jobs_open_key_idx', 'jobs', ['account_id', 'key'], unique=True, postgresql_where=sa.text("key IS NOT NULL AND state IN ('pending', 'running')"))
    op.create_table('workers',
        sa.Column('id', sa.Uuid(), nullable=False),
        sa.Column('host', sa.Text(), nullable=False),
        sa.Column('boot_id', sa.Text(), nullable=True),
        sa.Column('pid_namespace', sa.BigInteger(), nullable=True),
        sa.Column('pid', sa.Integer(), nullable=False),
        sa.Column('start_ticks', sa.BigInteger(), nullable=True),
        sa.Column('lanes', sa.ARRAY(sa.Text()), nullable=False),
        sa.Column('tasks', sa.ARRAY(sa.Text()), nullable=False),
        sa.Column('started_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
        sa.Column('beat_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
        sa.Column('retired_at', sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint('id', name='workers_pkey')
    )
    op.create_table('api_definitions',
        sa.Column('id', sa.Uuid(), nullable=False),
        sa.Column('account_id', sa.Uuid(), nullable=False),
        sa.Column('name', sa.Text(), nullable=False),
        sa.Column('content_hash', sa.Text(), nullable=False),
        sa.Column('media', sa.Text(), nullable=False),
        sa.Column('spec_version', sa.Text(), nullable=False),
        sa.Column('document', sa.LargeBinary(), nullable=False),
        sa.Column('inventory', postgresql.JSONB(), nullable=False),
        sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
        sa.CheckConstraint("content_hash ~ '^[0-9a-f]{64}$'", name=op.f('api_definitions_content_hash_is_sha256')),
        sa.CheckConstraint("media IN ('json', 'yaml')", name=op.f('api_definitions_media_known')),
        sa.ForeignKeyConstraint(['account_id'], ['accounts.id'], name='api_definitions_account_id_fkey'),
        sa.PrimaryKeyConstraint('id', name='api_definitions_pkey'),
        sa.UniqueConstraint('account_id', 'content_hash', name='api_definitions_account_id_content_hash_key'),
        sa.UniqueConstraint('account_id', 'id', name='api_definitions_account_id_id_key')
    )
    op.create_table('job_attempts',
        sa.Column('id', sa.Uuid(), nullable=False),
        sa.Column('account_id', sa.Uuid(), nullable=False),
        sa.Column('job_id', sa.Uuid(), nullable=False),
        sa.Column('fence', sa.BigInteger(), nullable=False),
        sa.Column('attempt', sa.Integer(), nullable=False),
        sa.Column('worker_id', sa.Uuid(), nullable=True),
        sa.Column('outcome', sa.Text(), nullable=False),
        sa.Column('reason', sa.Text(), nullable=True),
        sa.Column('error', sa.String(length=500), nullable=True),
        sa.Column('started_at', sa.DateTime(timezone=True), nullable=True),
        sa.Column('ended_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
        sa.CheckConstraint("outcome IN ('retried', 'failed', 'handed_over', 'reaped', 'canceled')", name=op.f('job_attempts_outcome_known')),
        sa.ForeignKeyConstraint(['job_id'], ['jobs.id'], name='job_attempts_job_id_fkey', ondelete='CASCADE'),
        sa.PrimaryKeyConstraint('id', name='job_attempts_pkey')
    )
    op.create_index('job_attempts_job_id_idx', 'job_attempts', ['job_id'], unique=False)
    op.create_table('job_bodies',
        sa.Column('job_id', sa.Uuid(), nullable=False),
        sa.Column('account_id', sa.Uuid(), nullable=False),
        sa.Column('payload', postgresql.JSONB(), nullable=False),
        sa.Column('result', postgresql.JSONB(), nullable=True),
        sa.Column('reduced', sa.Boolean(), server_default=sa.text('false'), nullable=False),
        sa.ForeignKeyConstraint(['job_id'], ['jobs.id'], name='job_bodies_job_id_fkey', ondelete='CASCADE'),
        sa.PrimaryKeyConstraint('job_id', name='job_bodies_pkey')
    )
    op.create_table('mappings',
        sa.Column('id', sa.Uuid(), nullable=False),
        sa.Column('account_id', sa.Uuid(), nullable=False),
        sa.Column('definition_id', sa.Uuid(), nullable=False),
        sa.Column('name', sa.Text(), nullable=False),
        sa.Column('status', sa.Text(), server_default='Draft', nullable=False),
        sa.Column('status_before', sa.Text(), nullable=True),
        sa.Column('enriching_run_id', sa.Uuid(), nullable=True),
        sa.Column('current_version', sa.Integer(), nullable=False),
        sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
        sa.Column('updated_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
        sa.CheckConstraint("(status = 'Enriching') = (enriching_run_id IS NOT NULL) AND (status = 'Enriching') = (status_before IS NOT NULL)", name=op.f('mappings_enriching_knows_its_run')),
        sa.CheckConstraint("status IN ('Draft', 'Ready', 'Enriching')", name=op.f('mappings_status_known')),
        sa.CheckConstraint("status_before IN ('Draft', 'Ready')", name=op.f('mappings_status_before_known')),
        sa.ForeignKeyConstraint(['account_id', 'definition_id'], ['api_definitions.account_id', 'api_definitions.id'], name='mappings_account_id_definition_id_fkey'),
        sa.ForeignKeyConstraint(['account_id'], ['accounts.id'], name='mappings_account_id_fkey'),
        sa.PrimaryKeyConstraint('id', name='mappings_pkey'),
        sa.UniqueConstraint('account_id', 'id', name='mappings_account_id_id_key')
    )
    op.create_index('mappings_account_id_definition_id_idx', 'mappings', ['account_id', 'definition_id'], unique=False)
    op.create_table('enrichment_runs',
        sa.Column('id', sa.Uuid(), nullable=False),
        sa.Column('account_id', sa.Uuid(), nullable=False),
        sa.Column('mapping_id', sa.Uuid(), nullable=False),
        sa.Column('job_id', sa.Uuid(), nullable=False),
        sa.Column('definition_id', sa.Uuid(), nullable=False),
        sa.Column('mapping_version', sa.Integer(), nullable=False),
        sa.Column('request_hash', sa.Text(), nullable=False),
        sa.Column('provider', sa.Text(), nullable=False),
        sa.Column('model', sa.Text(), nullable=False),
        sa.Column('targets', sa.ARRAY(sa.Text()), nullable=False),
        sa.Column('state', sa.Text(), nullable=True),
        sa.Column('reason', sa.Text(), nullable=True),
        sa.Column('error', sa.Text(), nullable=True),
        sa.Column('total_items', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('processed_items', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('failed_items', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('completed_items', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('counts', postgresql.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column('input_tokens', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('output_tokens', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('total_tokens', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('usage_estimated', sa.Boolean(), server_default=sa.text('false'), nullable=False),
        sa.Column('warnings', postgresql.JSONB(), server_default=sa.text("'[]'::jsonb"), nullable=False),
        sa.Column('plan', postgresql.JSONB(), nullable=True),
        sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
        sa.Column('started_at', sa.DateTime(timezone=True), nullable=True),
        sa.Column('finished_at', sa.DateTime(timezone=True), nullable=True),
        sa.Column('heartbeat_at', sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint('total_items >= 0 AND processed_items >= 0 AND failed_items >= 0 AND completed_items >= 0 AND input_tokens >= 0 AND output_tokens >= 0 AND total_tokens >= 0', name=op.f('enrichment_runs_counts_are_counts')),
        sa.CheckConstraint("state IN ('Completed', 'Canceled', 'Failed')", name=op.f('enrichment_runs_state_known')),
        sa.CheckConstraint("state IS DISTINCT FROM 'Failed' OR error IS NOT NULL", name=op.f('enrichment_runs_failed_says_why')),
        sa.CheckConstraint('(state IS NULL) = (finished_at IS NULL)', name=op.f('enrichment_runs_ended_has_an_end')),
        sa.ForeignKeyConstraint(['account_id', 'definition_id'], ['api_definitions.account_id', 'api_definitions.id'], name='enrichment_runs_account_id_definition_id_fkey'),
        sa.ForeignKeyConstraint(['account_id', 'mapping_id'], ['mappings.account_id', 'mappings.id'], name='enrichment_runs_account_id_mapping_id_fkey', ondelete='CASCADE'),
        sa.ForeignKeyConstraint(['account_id'], ['accounts.id'], name='enrichment_runs_account_id_fkey'),
        sa.PrimaryKeyConstraint('id', name='enrichment_runs_pkey'),
        sa.UniqueConstraint('account_id', 'id', name='enrichment_runs_account_id_id_key'),
        sa.UniqueConstraint('job_id', name='enrichment_runs_job_id_key')
    )
    op.create_index('enrichment_runs_mapping_id_idx', 'enrichment_runs', ['mapping_id', 'id'], unique=False)
    op.create_index('enrichment_runs_open_idx', 'enrichment_runs', ['mapping_id'], unique=True, postgresql_where=sa.text('state IS NULL'))
    op.create_table('mapping_versions',
        sa.Column('id', sa.Uuid(), nullable=False),
        sa.Column('account_id', sa.Uuid(), nullable=False),
        sa.Column('mapping_id', sa.Uuid(), nullable=False),
        sa.Column('number', sa.Integer(), nullable=False),
        sa.Column('definition_id', sa.Uuid(), nullable=False),
        sa.Column('content_hash', sa.Text(), nullable=False),
        sa.Column('origin', sa.Text(), nullable=False),
        sa.Column('run_id', sa.Uuid(), nullable=True),
        sa.Column('content', postgresql.JSONB(), nullable=False),
        sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
        sa.CheckConstraint("(origin = 'enrichment') = (run_id IS NOT NULL)", name=op.f('mapping_versions_enrichment_knows_its_run')),
        sa.CheckConstraint("origin IN ('import', 'enrichment', 'person')", name=op.f('mapping_versions_origin_known')),
        sa.CheckConstraint('number >= 1', name=op.f('mapping_versions_number_counts_from_one')),
        sa.ForeignKeyConstraint(['account_id', 'definition_id'], ['api_definitions.account_id', 'api_definitions.id'], name='mapping_versions_account_id_definition_id_fkey'),
        sa.ForeignKeyConstraint(['account_id', 'mapping_id'], ['mappings.account_id', 'mappings.id'], name='mapping_versions_account_id_mapping_id_fkey', ondelete='CASCADE'),
        sa.ForeignKeyConstraint(['account_id'], ['accounts.id'], name='mapping_versions_account_id_fkey'),
        sa.PrimaryKeyConstraint('id', name='mapping_versions_pkey'),
        sa.UniqueConstraint('account_id', 'id', name='mapping_versions_account_id_id_key'),
        sa.UniqueConstraint('mapping_id', 'number', name='mapping_versions_mapping_id_number_key')
    )
    op.create_table('enrichment_passes',
        sa.Column('id', sa.Uuid(), nullable=False),
        sa.Column('account_id', sa.Uuid(), nullable=False),
        sa.Column('run_id', sa.Uuid(), nullable=False),
        sa.Column('pass_key', sa.Text(), nullable=False),
        sa.Column('kind', sa.Text(), nullable=False),
        sa.Column('chunk_id', sa.Text(), nullable=True),
        sa.Column('status', sa.Text(), nullable=False),
        sa.Column('attempts', sa.Integer(), server_default=sa.text('1'), nullable=False),
        sa.Column('retries', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('prompt', sa.Text(), nullable=False),
        sa.Column('raw_output', sa.Text(), nullable=True),
        sa.Column('answer', postgresql.JSONB(none_as_null=True), nullable=True),
        sa.Column('suggestions', postgresql.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column('input_tokens', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('output_tokens', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('usage_source', sa.Text(), nullable=True),
        sa.Column('error', sa.Text(), nullable=True),
        sa.Column('started_at', sa.DateTime(timezone=True), nullable=True),
        sa.Column('finished_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
        sa.CheckConstraint("kind IN ('digest', 'overview', 'chunk')", name=op.f('enrichment_passes_kind_known')),
        sa.CheckConstraint("status IN ('completed', 'failed', 'split')", name=op.f('enrichment_passes_status_known')),
        sa.CheckConstraint('attempts >= 0 AND retries >= 0 AND input_tokens >= 0 AND output_tokens >= 0', name=op.f('enrichment_passes_counts_are_counts')),
        sa.ForeignKeyConstraint(['account_id', 'run_id'], ['enrichment_runs.account_id', 'enrichment_runs.id'], name='enrichment_passes_account_id_run_id_fkey', ondelete='CASCADE'),
        sa.ForeignKeyConstraint(['account_id'], ['accounts.id'], name='enrichment_passes_account_id_fkey'),
        sa.PrimaryKeyConstraint('id', name='enrichment_passes_pkey'),
        sa.UniqueConstraint('account_id', 'id', name='enrichment_passes_account_id_id_key')
    )
    op.create_index('enrichment_passes_checkpoint_idx', 'enrichment_passes', ['run_id', 'pass_key'], unique=True, postgresql_where=sa.text('answer IS NOT NULL'))
    op.create_index('enrichment_passes_run_id_idx', 'enrichment_passes', ['run_id', 'id'], unique=False)
