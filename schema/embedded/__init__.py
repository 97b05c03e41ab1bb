"""The embedded PostgreSQL: a real server from a wheel, started by its first user and stopped by its last.

Whether a server runs, and whether anyone uses it, is told by locks that the kernel drops when their holder dies, so
no crash of a user, of the keeper or of the server leaves anything to clean up by hand.

    home/postgres/starting   held while someone looks, starts or migrates: starts are serialised
    home/postgres/users      shared by every process that uses the server; alone on it means nobody does
    home/postgres/serving    held by every process of the server itself, inherited through its start
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

import psycopg
from psycopg import sql

from base.errors import Misconfigured
from schema.embedded import server
from schema.embedded.locks import Lock
from schema.embedded.place import SYSTEM_FOLDER, Place, prepare
from schema.migrate import upgrade

__all__ = ["DATABASE", "LOGIN", "OWNER", "SUPERUSER", "Embedded", "attach"]

DATABASE = "longhaul"
SUPERUSER = "postgres"
OWNER = "longhaul_owner"
LOGIN = "longhaul_login"


@dataclass
class Embedded:
    """One process's use of the embedded server. Leave it with `close()`; a process that dies has left.

    `url` is the login role's and the only one a running process connects with; `owner_url` is for migrations and
    `superuser_url` for what only a cluster's superuser may do, such as making databases.
    """

    url: str
    owner_url: str
    superuser_url: str
    place: Place
    _users: Lock = field(repr=False)

    def close(self) -> None:
        """Leave the server; the last to leave stops it and waits until it has stopped."""
        try:
            if self._users.try_exclusive():
                server.stop(self.place)
            else:
                self._users.shared()  # at once if others use it; after the stop if the keeper was faster than we
        finally:
            self._users.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def attach(home: Path, *, durable: bool = True, system_folder: Path = SYSTEM_FOLDER) -> Embedded:
    """Use the server of this home: the running one, or a fresh one with its roles, database and schema.

    Args:
        home: folder that holds it; made with mode 0700 when it is not there.
        durable: False gives up fsync, for tests.
        system_folder: where files live when root starts it, since PostgreSQL refuses to run as root.

    Raises:
        Misconfigured: it can't run here; the sentence offers LONGHAUL_DATABASE_URL.
    """
    try:
        place = prepare(home, system_folder)
        with Lock(place.starting).exclusive():
            return _attach(place, durable=durable)
    except (OSError, subprocess.SubprocessError, psycopg.Error) as error:
        raise Misconfigured(
            f"The embedded PostgreSQL can't run here: {_reason(error)}. "
            "Set LONGHAUL_DATABASE_URL to use a PostgreSQL server of your own."
        ) from error


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")


def _attach(place: Place, *, durable: bool) -> Embedded:
    users = Lock(place.users)
    users.shared()  # before the look at the server: from here on nobody stops it
    try:
        folder = server.ensure(place, superuser=SUPERUSER, durable=durable)
        _make_owner_and_database(folder)
        owner_url = _url(folder, OWNER)
        upgrade(owner_url, LOGIN, None)
    except BaseException:
        users.release()  # the keeper sees it and stops what nobody uses
        raise
    return Embedded(_url(folder, LOGIN), owner_url, _url(folder, SUPERUSER, "postgres"), place, users)


def _make_owner_and_database(socket_folder: Path) -> None:
    with _superuser(socket_folder) as connection:
        if not _exists(connection, "SELECT 1 FROM pg_roles WHERE rolname = %s", OWNER):
            # CREATEROLE: migrations make the roles that steps and sweeps enter.
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN CREATEROLE").format(sql.Identifier(OWNER)))
        if not _exists(connection, "SELECT 1 FROM pg_database WHERE datname = %s", DATABASE):
            connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(DATABASE), sql.Identifier(OWNER))
            )


def _exists(connection: psycopg.Connection, query: str, name: str) -> bool:
    return connection.execute(query.encode(), (name,)).fetchone() is not None


@contextmanager
def _superuser(socket_folder: Path) -> Iterator[psycopg.Connection]:
    with psycopg.connect(host=str(socket_folder), user=SUPERUSER, dbname="postgres", autocommit=True) as connection:
        yield connection


def _url(socket_folder: Path, role: str, database: str = DATABASE) -> str:
    return f"postgresql+psycopg://{role}@/{database}?host={quote(str(socket_folder), safe='')}"
