"""The migrations make what the metadata says, twice the same, with every account table behind its policy (I11)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from psycopg import sql
from psycopg.rows import dict_row
from sqlalchemy import create_engine, make_url

from base.errors import Misconfigured, Transient
from schema import migrate
from schema.accounts import accounts
from schema.engine import Database
from schema.enrichment.tables import enrichment_passes
from schema.ledger.tables import STORAGE, jobs
from schema.metadata import account_tables, metadata
from tests.services.postgres import Clone, plain

assert jobs.metadata is accounts.metadata is enrichment_passes.metadata is metadata  # all tables are imported


def _rows(url: str, query: str) -> list[dict[str, Any]]:
    with psycopg.connect(plain(url), row_factory=dict_row) as connection:
        return connection.execute(query.encode()).fetchall()


@contextmanager
def _empty(clone: Clone) -> Iterator[str]:
    """Another database of the owner's, with nothing in it; its owner's address."""
    name = f"test_{uuid4().hex[:12]}"
    with psycopg.connect(plain(clone.superuser_url), autocommit=True) as connection:
        owner = make_url(clone.owner_url).username or ""
        connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(owner)))
        try:
            yield make_url(clone.owner_url).set(database=name).render_as_string(hide_password=False)
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def test_autogenerate_finds_nothing_to_do(owner_url: str) -> None:
    engine = create_engine(owner_url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


CONSTRAINTS = """
    SELECT CAST(CAST(conrelid AS regclass) AS text) AS at, conname, pg_get_constraintdef(oid) AS says
    FROM pg_constraint WHERE connamespace = CAST('public' AS regnamespace) AND contype <> 'n'
      AND CAST(conrelid AS regclass) <> CAST('alembic_version' AS regclass)
    ORDER BY 1, 2
"""
INDEXES = """
    SELECT tablename, indexname, indexdef FROM pg_indexes
    WHERE schemaname = 'public' AND tablename <> 'alembic_version' ORDER BY 1, 2
"""


@pytest.mark.parametrize("query", [CONSTRAINTS, INDEXES], ids=["constraints", "indexes"])
def test_what_autogenerate_does_not_compare_is_equal_too(clone: Clone, query: str) -> None:
    with _empty(clone) as fresh:
        engine = create_engine(fresh)
        metadata.create_all(engine)
        engine.dispose()
        # What migrations make has this table as well; the query names it.
        with psycopg.connect(plain(fresh), autocommit=True) as connection:
            connection.execute("CREATE TABLE alembic_version (version_num text)")
        assert _rows(clone.owner_url, query) == _rows(fresh, query)


def test_storage_parameters_are_those_of_the_metadata(owner_url: str) -> None:
    found = _rows(owner_url, "SELECT relname, reloptions FROM pg_class WHERE reloptions IS NOT NULL AND relkind = 'r'")
    assert {row["relname"]: dict(o.split("=") for o in row["reloptions"]) for row in found} == STORAGE


def test_every_account_table_has_a_policy_and_forces_it(owner_url: str) -> None:
    forced = _rows(
        owner_url, "SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity ORDER BY relname"
    )
    assert tuple(row["relname"] for row in forced) == account_tables()
    policies = _rows(owner_url, "SELECT tablename, roles, cmd, qual, with_check FROM pg_policies")
    for table in account_tables():
        (app,) = [p for p in policies if p["tablename"] == table and p["roles"] == ["longhaul_app"]]
        assert app["cmd"] == "ALL"
        assert app["qual"] == app["with_check"]
        assert "longhaul.account_id" in app["qual"]
    assert {role for p in policies for role in p["roles"]} == {"longhaul_app", "longhaul_engine"}


def test_nobody_else_has_rights_and_nobody_may_delete_account_data(owner_url: str) -> None:
    grants = _rows(
        owner_url,
        "SELECT grantee, table_name, privilege_type FROM information_schema.role_table_grants "
        "WHERE table_schema = 'public' AND grantee <> (SELECT tableowner FROM pg_tables WHERE tablename = 'jobs')",
    )
    assert {grant["grantee"] for grant in grants} <= {"longhaul_app", "longhaul_engine"}
    dangerous = {"DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"}
    assert {grant["table_name"] for grant in grants if grant["privilege_type"] in dangerous} == {"gate_slots"}


def test_functions_run_with_the_rights_of_their_caller(owner_url: str) -> None:
    """Else no policy would hold inside them (I11)."""
    found = _rows(
        owner_url,
        "SELECT proname, prosecdef, proacl FROM pg_proc WHERE pronamespace = CAST('public' AS regnamespace)",
    )
    assert {row["proname"] for row in found} == {"claim_job", "move_progress", "complete_job"}
    assert not any(row["prosecdef"] for row in found)
    callers = {row["proname"]: {entry.partition("=")[0] for entry in row["proacl"]} for row in found}
    assert callers["claim_job"] - {"longhaul_owner"} == {"longhaul_engine"}
    assert callers["move_progress"] - {"longhaul_owner"} == {"longhaul_app"}
    assert callers["complete_job"] - {"longhaul_owner"} == {"longhaul_app", "longhaul_engine"}


def test_upgrading_again_changes_nothing(clone: Clone, database: Database) -> None:
    assert migrate.upgrade(clone.owner_url, make_url(clone.url).username or "") == (migrate.head(), migrate.head())
    assert migrate.revision(database) == migrate.head()


def test_an_empty_database_is_brought_to_the_newest_revision_and_back(clone: Clone) -> None:
    with _empty(clone) as fresh:
        assert migrate.upgrade(fresh, make_url(clone.url).username or "") == (None, migrate.head())
        with migrate._owner(fresh) as connection:
            command.downgrade(migrate._config(connection), "base")
        left = _rows(fresh, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        assert [row["tablename"] for row in left] == ["alembic_version"]


def test_a_schema_of_a_newer_version_is_left_alone(clone: Clone) -> None:
    with psycopg.connect(plain(clone.superuser_url)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(Misconfigured) as refused:
        migrate.upgrade(clone.owner_url, make_url(clone.url).username or "")
    assert str(refused.value) == migrate.mismatch("9999")


def test_a_database_never_migrated_has_no_revision(clone: Clone, database: Database) -> None:
    with _empty(clone) as fresh:
        url = make_url(clone.url).set(database=make_url(fresh).database).render_as_string(hide_password=False)
        other = Database(url, database._limits)
        assert migrate.revision(other) is None
        other.close()


def test_the_login_role_reads_nothing_by_itself(clone: Clone) -> None:
    login = make_url(clone.url).username
    (role,) = _rows(clone.owner_url, f"SELECT * FROM pg_roles WHERE rolname = '{login}'")
    assert role["rolcanlogin"]
    assert not any(role[f"rol{right}"] for right in ("super", "inherit", "createrole", "createdb", "bypassrls"))
    assert {"statement_timeout=5s", "idle_in_transaction_session_timeout=5s"} <= set(role["rolconfig"])


def test_a_role_that_reads_too_much_is_refused_as_login(clone: Clone) -> None:
    owner = make_url(clone.owner_url).username or ""
    with pytest.raises(Misconfigured, match="can't be the login role"):
        migrate.upgrade(clone.owner_url, owner)


def test_a_database_that_cannot_be_reached_is_said_in_a_sentence(clone: Clone) -> None:
    nowhere = make_url(clone.owner_url).set(database="nowhere", password="hunter2")
    with pytest.raises(Transient, match=r"can't be migrated: .*LONGHAUL_DATABASE_OWNER_URL") as error:
        migrate.upgrade(nowhere.render_as_string(hide_password=False), "somebody")
    assert "hunter2" not in str(error.value)
