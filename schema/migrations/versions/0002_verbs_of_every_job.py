"""The verbs that every job says, claim, progress and done, as functions: one round trip and one plan each.

Revision: 0002, after 0001.
"""

from pathlib import Path

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

#: Each function, and who calls it. They run with the caller's rights, so policies hold inside them.
FUNCTIONS = {
    "claim_job(text, text[], text[], boolean, uuid)": "longhaul_engine",
    "move_progress(uuid, uuid, bigint, integer, integer)": "longhaul_app",
    "complete_job(uuid, uuid, bigint, text, jsonb)": "longhaul_app, longhaul_engine",
}

#: What the engine writes beside a claim: the plain end of the run before it, its result inside its account.
ENDS_A_RUN = {"jobs": "UPDATE (reason, error, finished_at)", "job_bodies": "UPDATE (result)"}

_FOLDER = Path(__file__).parent.parent / "functions"


def upgrade() -> None:
    for function, roles in FUNCTIONS.items():
        name = function.partition("(")[0]
        # The file belongs to this migration: a later version of the function is another file and another migration.
        op.get_bind().exec_driver_sql((_FOLDER / f"{revision}_{name}.sql").read_text(encoding="utf-8"))
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO {roles}")
    for table, right in ENDS_A_RUN.items():
        op.execute(f"GRANT {right} ON {table} TO longhaul_engine")


def downgrade() -> None:
    for table, right in ENDS_A_RUN.items():
        op.execute(f"REVOKE {right} ON {table} FROM longhaul_engine")
    for function in FUNCTIONS:
        op.execute(f"DROP FUNCTION {function}")
