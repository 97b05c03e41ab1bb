"""What a database is like, and what about it would not work or not be safe; asked by `doctor`."""

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import Connection, text

from schema import migrate
from schema.engine import APP_ROLE, ENGINE_ROLE, Database
from schema.login import RIGHTS, too_mighty

#: The oldest server the statements are written for.
LEAST_VERSION = 150_000

_SERVER = text("SELECT current_setting('server_version'), CAST(current_setting('server_version_num') AS integer)")
_LOGIN = text("SELECT rolname, rolinherit FROM pg_roles WHERE rolname = session_user")
_ROLE = text("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = :role)")
# Since 16 one can be a member of a role that one may only give away.
_MEMBER = text(
    "SELECT pg_has_role(session_user, CAST(:role AS name), "
    "CASE WHEN CAST(current_setting('server_version_num') AS integer) < 160000 THEN 'MEMBER' ELSE 'SET' END)"
)
_IDLE_LIMIT = text("SELECT current_setting('idle_in_transaction_session_timeout')")


class ServerState(NamedTuple):
    """A database as it is found; `complaints` are sentences, each with what to do.

    `revision` is None where there is no schema, or where this login may not look; `mismatch` is what is wrong with it.
    """

    version: str
    version_number: int
    revision: str | None
    mismatch: str | None
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
        may_look = not any(_cannot_work(connection))
    if migrated and not may_look:
        return ServerState(version, number, None, None, complaints)
    revision = migrate.revision(database) if migrated else None
    return ServerState(version, number, revision, migrate.mismatch(revision), complaints)


def _complaints(connection: Connection, version: int) -> Iterator[str]:
    if version < LEAST_VERSION:
        yield f"PostgreSQL {version // 10_000} is too old: use {LEAST_VERSION // 10_000} or newer."
    yield from _cannot_work(connection)
    if _may_too_much(connection):
        return  # that role is to be left as it is
    login = connection.execute(_LOGIN).one()
    if login.rolinherit:
        yield f"The login role {login.rolname} inherits: run ALTER ROLE {login.rolname} NOINHERIT."
    if connection.execute(_IDLE_LIMIT).scalar_one() == "0":
        yield (
            f"The login role {login.rolname} may leave transactions open for ever, which slows every claim: "
            "run ./longhaul migrate."
        )


def _cannot_work(connection: Connection) -> Iterator[str]:
    if why := _may_too_much(connection):
        yield why
        return
    for role in (ENGINE_ROLE, APP_ROLE):
        if not connection.execute(_ROLE, {"role": role}).scalar_one():
            yield f"The login role can't work as {role}: there is no such role. Run ./longhaul migrate."
        elif not connection.execute(_MEMBER, {"role": role}).scalar_one():
            yield f"The login role can't work as {role}: it may not enter it. Run ./longhaul migrate."


def _may_too_much(connection: Connection) -> str | None:
    return too_mighty(*connection.exec_driver_sql(RIGHTS).one())
