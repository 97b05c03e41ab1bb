"""The backup that docs/operating.md describes brings back rows, rights and row security."""

import subprocess
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import psycopg
import pytest

from base.settings import DatabaseLimits
from schema.accounts import default_account
from schema.embedded import OWNER, SUPERUSER
from schema.embedded.binaries import in_wheel
from schema.engine import Database
from schema.migrate import upgrade
from tests.services.postgres import Clone, Postgres, plain


def _client(program: str, clone: Clone, *arguments: str, stdin: bytes = b"") -> bytes:
    folder = parse_qs(urlsplit(plain(clone.superuser_url)).query)["host"][0]
    return subprocess.run(
        [in_wheel() / program, "--host", folder, "--username", SUPERUSER, *arguments],
        check=True,
        capture_output=True,
        input=stdin,
    ).stdout


@pytest.fixture
def restored(postgres: Postgres, clone: Clone, database: Database, account_id: UUID) -> str:
    """The login role's address of a database that was dumped, dropped, made again and restored."""
    database.close()
    dump = _client("pg_dump", clone, "--format", "custom", clone.name)
    _client("dropdb", clone, "--force", clone.name)
    _client("createdb", clone, "--owner", OWNER, clone.name)
    _client("pg_restore", clone, "--dbname", clone.name, stdin=dump)
    return clone.url


def test_a_restored_database_is_whole(restored: str, clone: Clone, account_id: UUID) -> None:
    before, after = upgrade(clone.owner_url, "longhaul_login")
    assert before == after
    back = Database(restored, DatabaseLimits())
    assert default_account(back) == account_id
    back.close()


def test_row_security_comes_back_too(restored: str, clone: Clone) -> None:
    with psycopg.connect(plain(clone.superuser_url)) as connection:
        rows = connection.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
            "AND relname = 'jobs' AND relrowsecurity AND relforcerowsecurity"
        ).fetchall()
    assert rows == [("jobs",)]
    with psycopg.connect(plain(restored)) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("SELECT FROM jobs")


def test_the_programs_it_names_are_postgresqls_own() -> None:
    text = (Path(__file__).resolve().parent.parent.parent / "docs" / "operating.md").read_text()
    for program in ("pg_dump", "dropdb", "createdb", "pg_restore"):
        assert program in text
        assert (in_wheel() / program).is_file()
