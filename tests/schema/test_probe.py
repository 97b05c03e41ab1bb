"""What `doctor` learns of a database, and what it complains about."""

from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import make_url

from base.errors import Transient
from base.settings import DatabaseLimits
from schema import migrate
from schema.engine import Database
from schema.probe import ServerState, probe
from tests.services.postgres import Clone, plain


def _probe(url: str) -> ServerState:
    database = Database(url, DatabaseLimits())
    try:
        return probe(database)
    finally:
        database.close()


def test_a_migrated_database_gives_no_complaint(clone: Clone) -> None:
    state = _probe(clone.url)
    assert state.complaints == ()
    assert state.revision == state.head == migrate.head()
    assert state.version_number >= 180_000
    assert state.version.startswith("18")


def test_logins_that_may_too_much_are_complained_about(clone: Clone) -> None:
    superuser = " ".join(_probe(clone.superuser_url).complaints)
    assert "reads every account's rows" in superuser
    owner = " ".join(_probe(clone.owner_url).complaints)
    assert "owns tables" in owner
    assert "inherits" in owner


def test_a_login_that_may_too_little_is_told_what_to_do(clone: Clone) -> None:
    name = f"stranger_{uuid4().hex[:8]}"
    with psycopg.connect(plain(clone.superuser_url), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN NOINHERIT".encode())
        try:
            url = make_url(clone.url).set(username=name).render_as_string(hide_password=False)
            state = _probe(url)
        finally:
            connection.execute(f"DROP ROLE {name}".encode())
    assert state.revision is None
    cannot = [complaint for complaint in state.complaints if "can't work as" in complaint]
    assert len(cannot) == 2
    assert all("./longhaul migrate" in complaint for complaint in cannot)
    assert any("leave transactions open" in complaint for complaint in state.complaints)


def test_a_schema_that_is_behind_is_seen(clone: Clone) -> None:
    with psycopg.connect(plain(clone.superuser_url)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0000'")
    state = _probe(clone.url)
    assert (state.revision, state.complaints) == ("0000", ())


def test_a_database_that_cannot_be_reached_is_a_sentence_without_its_password() -> None:
    with pytest.raises(Transient, match="can't be used now") as error:
        _probe("postgresql://somebody:hunter2@127.0.0.1:9/nowhere")
    assert "hunter2" not in str(error.value)
