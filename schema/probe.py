"""What a database is like, and what about it would not work or not be safe; asked by `doctor`."""

from typing import NamedTuple

from sqlalchemy import Connection, text

from schema import migrate
from schema.engine import APP_ROLE, ENGINE_ROLE, Database

#: The oldest server the statements are written for.
LEAST_VERSION = 150_000

_SERVER = text("SELECT current_setting('server_version'), CAST(current_setting('server_version_num') AS integer)")
_LOGIN = text("SELECT rolname, rolsuper, rolbypassrls, rolinherit FROM pg_roles WHERE rolname = session_user")
_OWNED = text(
    "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = 'public' AND c.relkind = 'r' AND c.relowner = CAST(session_user AS regrole)"
)
_ROLE = text("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = :role)")
# Since 16 one can be a member of a role that one may only give away.
_MEMBER = text(
    "SELECT pg_has_role(session_user, CAST(:role AS name), "
    "CASE WHEN CAST(current_setting('server_version_num') AS integer) < 160000 THEN 'MEMBER' ELSE 'SET' END)"
)
_IDLE_LIMIT = text("SELECT current_setting('idle_in_transaction_session_timeout')")


class ServerState(NamedTuple):
    """A database as it is found; `complaints` are sentences, each with what to do."""

    version: str
    version_number: int
    revision: str | None
    head: str
    complaints: tuple[str, ...]


def probe(database: Database) -> ServerState:
    """Look at a database without writing to it.

    Raises:
        Transient: it can't be reached; one sentence, no password in it.
    """
    with database.login() as connection:
        version, number = connection.execute(_SERVER).one()
        complaints = tuple(_complaints(connection, number))
        migrated = connection.execute(text("SELECT to_regclass('alembic_version') IS NOT NULL")).scalar_one()
    enterable = not any(complaint.startswith(_CANNOT_WORK) for complaint in complaints)
    revision = migrate.revision(database) if migrated and enterable else None
    return ServerState(version, number, revision, migrate.head(), complaints)


_CANNOT_WORK = "The login role can't work as"


def _complaints(connection: Connection, version: int) -> list[str]:
    found = []
    if version < LEAST_VERSION:
        found.append(f"PostgreSQL {version // 10_000} is too old: use {LEAST_VERSION // 10_000} or newer.")
    login = connection.execute(_LOGIN).one()
    if login.rolsuper or login.rolbypassrls:
        found.append(
            f"The login role {login.rolname} reads every account's rows: connect as a role that is no superuser."
        )
    if login.rolinherit:
        found.append(f"The login role {login.rolname} inherits: run ALTER ROLE {login.rolname} NOINHERIT.")
    if connection.execute(_OWNED).scalar_one():
        found.append(f"The login role {login.rolname} owns tables: connect as another one, and migrate as this one.")
    for role in (ENGINE_ROLE, APP_ROLE):
        if not connection.execute(_ROLE, {"role": role}).scalar_one():
            found.append(f"{_CANNOT_WORK} {role}: there is no such role. Run ./longhaul migrate.")
        elif not connection.execute(_MEMBER, {"role": role}).scalar_one():
            found.append(f"{_CANNOT_WORK} {role}: it may not enter it. Run ./longhaul migrate.")
    if connection.execute(_IDLE_LIMIT).scalar_one() == "0":
        found.append(
            f"The login role {login.rolname} may leave transactions open for ever, which slows every claim: "
            "run ./longhaul migrate."
        )
    return found
