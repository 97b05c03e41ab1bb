"""When each sweep last ran, what was learned about the outside world, and what a person should see.

Revision: 0003, after 0002.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ENGINE = "longhaul_engine"

#: None of them belongs to an account, so only the engine reads and writes them. Nobody deletes.
TABLES = ("sweeps", "observations", "alerts")


def upgrade() -> None:
    op.create_table('sweeps',
        sa.Column('name', sa.Text(), nullable=False),
        sa.Column('began_at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('held_back_since', sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint('name', name='sweeps_pkey')
    )
    op.create_table('observations',
        sa.Column('name', sa.Text(), nullable=False),
        sa.Column('value', sa.BigInteger(), nullable=False),
        sa.Column('noted_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
        sa.PrimaryKeyConstraint('name', name='observations_pkey')
    )
    op.create_table('alerts',
        sa.Column('id', sa.Uuid(), nullable=False),
        sa.Column('source', sa.Text(), nullable=False),
        sa.Column('cause', sa.Text(), nullable=False),
        sa.Column('severity', sa.Text(), nullable=False),
        sa.Column('text', sa.String(length=500), nullable=False),
        sa.Column('count', sa.Integer(), server_default=sa.text('1'), nullable=False),
        sa.Column('first_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
        sa.Column('last_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
        sa.Column('acknowledged_at', sa.DateTime(timezone=True), nullable=True),
        sa.Column('acknowledged_by', sa.Text(), nullable=True),
        sa.CheckConstraint("severity IN ('warning', 'critical')", name=op.f('alerts_severity_known')),
        sa.CheckConstraint('(acknowledged_at IS NULL) = (acknowledged_by IS NULL)', name=op.f('alerts_acknowledged_by_somebody')),
        sa.CheckConstraint('count >= 1', name=op.f('alerts_count_counts_from_one')),
        sa.PrimaryKeyConstraint('id', name='alerts_pkey')
    )
    op.create_index('alerts_open_idx', 'alerts', ['source', 'cause'], unique=True, postgresql_where=sa.text('acknowledged_at IS NULL'))
    for table in TABLES:
        op.execute(f"GRANT SELECT, INSERT, UPDATE ON {table} TO {ENGINE}")


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)
