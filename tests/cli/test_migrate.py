"""`migrate`: from an empty database to one a worker can use, as its owner."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from base.terminal.exits import Exit
from schema.embedded import OWNER
from schema.migrate import head
from tests.cli.running import environment, longhaul, on
from tests.services.postgres import Clone, Postgres, plain


@dataclass(frozen=True)
class _Fresh:
    """An empty database of the owner's, and a login role that is not there yet."""

    login: str
    url: str
    owner_url: str

    @property
    def env(self) -> dict[str, str]:
        return environment(LONGHAUL_DATABASE_URL=self.url, LONGHAUL_DATABASE_OWNER_URL=self.owner_url)


@pytest.fixture
def fresh(postgres: Postgres, clone: Clone) -> Iterator[_Fresh]:
    name, login = f"empty_{uuid4().hex[:8]}", f"login_{uuid4().hex[:8]}"
    with psycopg.connect(plain(clone.superuser_url), autocommit=True) as superuser:
        superuser.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(OWNER)))
        url = clone.owner_url.replace(clone.name, name)
        yield _Fresh(login, url.replace(f"{OWNER}@", f"{login}:p%40ss@"), url)
        superuser.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
        superuser.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(login)))


def test_an_empty_database_is_migrated_and_then_used(fresh: _Fresh) -> None:
    done = longhaul("migrate", env=fresh.env)
    assert done.code == Exit.DONE, done.err
    assert done.out.rstrip().endswith(f": empty -> {head()}.")
    listed = longhaul("jobs", "list", "--json", env=environment(LONGHAUL_DATABASE_URL=fresh.url))
    assert listed.code == Exit.DONE, listed.err
    assert listed.json == {"jobs": [], "before": None}


def test_migrating_again_changes_nothing(clone: Clone) -> None:
    done = longhaul("migrate", env=on(clone, LONGHAUL_DATABASE_OWNER_URL=clone.owner_url))
    assert done.code == Exit.DONE, done.err
    assert done.out.rstrip().endswith(f"is at {head()}: nothing to do.")


def test_scripts_read_the_revisions(fresh: _Fresh) -> None:
    done = longhaul("migrate", "--json", env=fresh.env)
    assert done.json["before"] is None
    assert done.json["after"] == head()
    assert done.json["login_role"] == fresh.login


def test_a_command_on_a_database_that_was_not_migrated_says_what_to_do(fresh: _Fresh) -> None:
    with psycopg.connect(plain(fresh.owner_url), autocommit=True) as owner:
        owner.execute(
            sql.SQL("CREATE ROLE {} LOGIN NOINHERIT IN ROLE longhaul_engine, longhaul_app").format(
                sql.Identifier(fresh.login)
            )
        )
    done = longhaul("jobs", "list", env=environment(LONGHAUL_DATABASE_URL=fresh.url))
    assert done.code == Exit.USAGE
    assert "./longhaul migrate" in done.err
    assert len(done.err.splitlines()) == 1


def test_without_the_owner_it_says_whose_address_is_missing(clone: Clone) -> None:
    done = longhaul("migrate", env=on(clone))
    assert done.code == Exit.USAGE
    assert "LONGHAUL_DATABASE_OWNER_URL is not set" in done.err


def test_an_owner_who_cannot_be_reached_is_one_sentence_without_the_password() -> None:
    done = longhaul(
        "migrate",
        env=environment(
            LONGHAUL_DATABASE_URL="postgresql://login:hidden1@127.0.0.1:1/longhaul",
            LONGHAUL_DATABASE_OWNER_URL="postgresql://owner:hidden2@127.0.0.1:1/longhaul",
        ),
    )
    assert done.code == Exit.FAILED
    assert len(done.err.splitlines()) == 1
    assert "hidden" not in done.said


def test_an_address_without_a_user_is_refused(clone: Clone) -> None:
    url = clone.url.replace("longhaul_login@", "")
    done = longhaul("migrate", env=environment(LONGHAUL_DATABASE_URL=url, LONGHAUL_DATABASE_OWNER_URL=clone.owner_url))
    assert done.code == Exit.USAGE
    assert "names no user" in done.err
