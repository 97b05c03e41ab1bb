"""A database that can't be used now: why, what to do, and whether waiting may help."""

import psycopg
import pytest
from sqlalchemy import make_url

from base.settings import DatabaseLimits
from schema.away import DatabaseAway, DatabaseRefuses, away, says_not_now
from schema.engine import Database
from tests.schema.logins import as_role, login_of
from tests.services.postgres import Clone, plain


def _refusal(url: str) -> DatabaseAway:
    database = Database(url, DatabaseLimits())
    with pytest.raises(DatabaseAway) as error, database.engine():
        pass
    database.close()
    return error.value


def test_a_server_that_lets_this_login_not_in_is_not_waited_for(clone: Clone) -> None:
    """In the words of a real server: they change with its version."""
    for url, what_to_do in (
        (as_role(clone.url, "stranger"), "let `./longhaul migrate` make the login role"),
        (make_url(clone.url).set(database="nowhere").render_as_string(hide_password=False), "createdb"),
    ):
        refused = _refusal(url)
        assert isinstance(refused, DatabaseRefuses)
        assert "LONGHAUL_DATABASE_URL" in str(refused)
        assert what_to_do in str(refused)


def test_a_role_that_may_not_log_in_is_told_so(clone: Clone) -> None:
    with (
        login_of(clone, "NOINHERIT") as opened,
        psycopg.connect(plain(clone.superuser_url), autocommit=True) as superuser,
    ):
        name = make_url(opened._url).username or ""
        superuser.execute(f"ALTER ROLE {name} NOLOGIN".encode())
        refused = _refusal(opened._url)
    assert isinstance(refused, DatabaseRefuses)
    assert "LOGIN" in str(refused)


def test_a_server_that_is_not_there_is_waited_for_with_what_to_do() -> None:
    for url in ("postgresql://somebody@127.0.0.1:9/nowhere", "postgresql://somebody@/nowhere?host=/nowhere"):
        refused = _refusal(url)
        assert not isinstance(refused, DatabaseRefuses)
        assert "Start the server, or correct host and port in LONGHAUL_DATABASE_URL." in str(refused)
    assert "Correct the host" in str(_refusal("postgresql://somebody@nowhere.invalid/nowhere"))


@pytest.mark.parametrize(
    ("said", "refuses", "what_to_do"),
    [
        ('FATAL:  password authentication failed for user "longhaul"', True, "Correct user and password in HERE"),
        ("fe_sendauth: no password supplied", True, "Correct user and password in HERE"),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "longhaul"', True, "pg_hba.conf"),
        ('FATAL:  permission denied for database "longhaul"', True, "CONNECT"),
        ("FATAL:  the database system is starting up", False, "Wait a moment"),
        ("connection timeout expired", False, "open its port"),
        ("FATAL:  sorry, too many clients already", False, "max_connections"),
        ("connection failed: FATAL:  la base de donn\u00e9es n'existe pas", False, "Is the server up, and HERE right?"),
        ("terminating connection due to administrator command", False, "Try again in a moment."),
    ],
)
def test_what_a_server_says_comes_with_what_to_do(said: str, refuses: bool, what_to_do: str) -> None:
    told = away(psycopg.OperationalError(said), setting="HERE")
    assert isinstance(told, DatabaseRefuses) is refuses
    assert what_to_do in str(told)


@pytest.mark.parametrize(
    ("state", "not_now"),
    [
        ("08000", True),
        ("08006", True),
        ("57P01", True),
        ("57P02", True),
        ("57P03", True),
        ("53300", True),
        ("40001", True),
        ("40P01", True),
        ("55P03", True),
        ("57014", False),
        ("53100", False),
        ("54000", False),
        ("23505", False),
        ("22021", False),
        ("42501", False),
    ],
)
def test_what_is_an_outage_and_what_is_a_refusal(state: str, not_now: bool) -> None:
    assert says_not_now(psycopg.errors.lookup(state)("said")) == not_now


def test_an_error_without_a_code_is_an_outage_when_it_is_the_connections() -> None:
    assert says_not_now(psycopg.OperationalError("the connection is lost"))
    assert says_not_now(psycopg.InterfaceError("the connection is closed"))
    assert not says_not_now(psycopg.ProgrammingError("a placeholder is missing"))
