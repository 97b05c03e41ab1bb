"""Bringing a database to this version's schema, and the role that processes log in as."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from psycopg import sql
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from base.errors import Misconfigured
from schema.away import away
from schema.engine import APP_ROLE, ENGINE_ROLE, Database, address
from schema.login import RIGHTS, too_mighty

_MIGRATIONS = Path(__file__).parent / "migrations"

#: Two processes that migrate at once wait for each other on this number.
_LOCK = 0x4C4F4E47  # "LONG"

#: A forgotten transaction holds back vacuum and slows every claim: the server ends it.
_LOGIN_SETTINGS = {"statement_timeout": "5s", "idle_in_transaction_session_timeout": "5s"}

_REVISION = text("SELECT version_num FROM alembic_version")
_HAS_REVISION = text("SELECT to_regclass('alembic_version') IS NOT NULL")


def upgrade(owner_url: str, login_role: str, login_password: str | None = None) -> tuple[str | None, str]:
    """Migrate to the newest revision and make the login role; both may be there already.

    `owner_url` names a role that may create tables and roles. Answers the revisions (before, after).

    Raises:
        DatabaseAway: the database can't be reached.
        Misconfigured: the login role could read without entering a role, or the schema is newer than this version.
    """
    with _owner(owner_url) as connection:
        before = MigrationContext.configure(connection).get_current_revision()
        if before is not None and before not in _known_revisions():
            raise Misconfigured(mismatch(before) or "")
        command.upgrade(_config(connection), "head")
        _make_login_role(connection, login_role, login_password)
        return before, head()


def head() -> str:
    """The newest revision this version knows."""
    newest = ScriptDirectory(str(_MIGRATIONS)).get_current_head()
    if newest is None:
        raise Misconfigured("This installation has no migrations: it is incomplete.")
    return newest


def _known_revisions() -> set[str]:
    return {script.revision for script in ScriptDirectory(str(_MIGRATIONS)).walk_revisions()}


def mismatch(found: str | None) -> str | None:
    """Why this version can't work on a schema of that revision, and what to do; None if it can."""
    needed = head()
    if found == needed:
        return None
    if found is None:
        return f"The database has no schema yet, this version needs {needed}. Run `./longhaul migrate`."
    if found in _known_revisions():
        return f"The database's schema is at {found}, this version needs {needed}. Run `./longhaul migrate`."
    return (
        f"The database's schema is at {found}, which this version does not know: a newer one migrated it. "
        f"Update this installation; it goes up to {needed}."
    )


def revision(database: Database) -> str | None:
    """The revision the database is at; None when it was never migrated.

    Raises:
        Misconfigured: the login role is one that no process works as.
    """
    with database.login() as connection:
        if why := too_mighty(*connection.exec_driver_sql(RIGHTS).one()):
            raise Misconfigured(why)
        if not connection.execute(_HAS_REVISION).scalar_one():
            return None
    with database.engine() as connection:
        found: str | None = connection.execute(_REVISION).scalar()
        return found


def require_current(database: Database) -> None:
    """Refuse to work on a schema of another version.

    Raises:
        Misconfigured: the database is at another revision or was never migrated, or the login role may too much.
    """
    if why := mismatch(revision(database)):
        raise Misconfigured(why)


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


@contextmanager
def _owner(owner_url: str) -> Iterator[Connection]:
    engine: Engine = create_engine(address(owner_url, "LONGHAUL_DATABASE_OWNER_URL"), poolclass=NullPool)
    try:
        with engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            yield connection
    except OperationalError as error:
        raise away(error.orig, "migrated", "LONGHAUL_DATABASE_OWNER_URL") from error
    finally:
        engine.dispose()


def _make_login_role(connection: Connection, role: str, password: str | None) -> None:
    """A role that may log in and enter the two others, and by itself reads nothing (I11)."""
    found = connection.execute(
        text("SELECT rolsuper, rolinherit, rolbypassrls, rolcanlogin FROM pg_roles WHERE rolname = :role"),
        {"role": role},
    ).one_or_none()
    if found is None:
        _run(connection, sql.SQL("CREATE ROLE {} LOGIN NOINHERIT").format(sql.Identifier(role)))
    elif found.rolsuper or found.rolinherit or found.rolbypassrls or not found.rolcanlogin:
        raise Misconfigured(
            f"The role {role} can't be the login role: it must be LOGIN, NOINHERIT, no superuser and without "
            "BYPASSRLS. Name another role in LONGHAUL_DATABASE_URL, which `./longhaul migrate` then makes, or alter "
            "this one."
        )
    if password is not None:
        _run(
            connection,
            sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(role), sql.Literal(password)),
        )
    # Only what differs is written: roles are shared by all databases of a server, and writers of one row collide.
    for wanted in (ENGINE_ROLE, APP_ROLE):
        member = connection.execute(
            text("SELECT pg_has_role(CAST(:role AS name), CAST(:wanted AS name), 'MEMBER')"),
            {"role": role, "wanted": wanted},
        ).scalar_one()
        if not member:
            _run(connection, sql.SQL("GRANT {} TO {}").format(sql.Identifier(wanted), sql.Identifier(role)))
    for name, value in _missing_settings(connection, role):
        _run(
            connection,
            sql.SQL("ALTER ROLE {} SET {} = {}").format(sql.Identifier(role), sql.Identifier(name), sql.Literal(value)),
        )


def _missing_settings(connection: Connection, role: str) -> list[tuple[str, str]]:
    there = connection.execute(
        text(
            "SELECT unnest(setconfig) FROM pg_db_role_setting "
            "WHERE setdatabase = 0 AND setrole = CAST(CAST(:role AS text) AS regrole)"
        ),
        {"role": connection.dialect.identifier_preparer.quote(role)},
    ).scalars()
    names = {entry.partition("=")[0] for entry in there}
    # One an operator chose stays.
    return [(name, value) for name, value in _LOGIN_SETTINGS.items() if name not in names]


def _run(connection: Connection, statement: sql.Composed) -> None:
    connection.exec_driver_sql(statement.as_string(None))
