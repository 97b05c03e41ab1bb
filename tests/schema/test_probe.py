"""What `doctor` learns of a database, and what it complains about."""

from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import make_url

from base.errors import Misconfigured, Transient
from base.settings import DatabaseLimits
from schema import migrate
from schema.engine import Database
from schema.probe import LEAST_VERSION, ServerState, probe
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
    assert state.revision == migrate.head()
    assert state.mismatch is None
    assert state.version_number >= LEAST_VERSION
    assert state.version.startswith(str(state.version_number // 10_000))


def test_logins_that_may_too_much_are_complained_about_as_processes_refuse_them(clone: Clone) -> None:
    for url in (clone.superuser_url.replace("/postgres?", f"/{clone.name}?"), clone.owner_url):
        state = _probe(url)
        database = Database(url, DatabaseLimits())
        with pytest.raises(Misconfigured) as refused:
            migrate.require_current(database)
        assert state.complaints == (str(refused.value),)
        assert (state.revision, state.mismatch) == (None, None)


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


@pytest.mark.parametrize(("at", "what_to_do"), [("0001", "Run `./longhaul migrate`"), ("9999", "Update")])
def test_another_versions_schema_is_told_as_processes_refuse_it(clone: Clone, at: str, what_to_do: str) -> None:
    with psycopg.connect(plain(clone.superuser_url)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = %s", (at,))
    state = _probe(clone.url)
    database = Database(clone.url, DatabaseLimits())
    with pytest.raises(Misconfigured, match=what_to_do) as refused:
        migrate.require_current(database)
    database.close()
    assert (state.revision, state.mismatch, state.complaints) == (at, str(refused.value), ())


def test_a_database_that_cannot_be_reached_is_a_sentence_without_its_password() -> None:
    with pytest.raises(Transient, match="can't be used now") as error:
        _probe("postgresql://somebody:hunter2@127.0.0.1:9/nowhere")
    assert "hunter2" not in str(error.value)
