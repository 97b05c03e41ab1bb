"""PostgreSQL for tests: the embedded server in a home of its own, and databases cloned from a migrated template.

Another server can be lent, so that another version is tested: `./longhaul test --postgres URL tests/schema`.
"""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from base.errors import Misconfigured
from schema.embedded import DATABASE, LOGIN, OWNER, Embedded, attach
from schema.engine import APP_ROLE, ENGINE_ROLE
from schema.migrate import upgrade


def plain(url: str) -> str:
    """The same address for psycopg itself, which knows no `+psycopg`."""
    return url.replace("postgresql+psycopg://", "postgresql://", 1)


@dataclass(frozen=True)
class Clone:
    """One test's database: its addresses by role."""

    name: str
    url: str
    owner_url: str
    superuser_url: str


class Postgres:
    """One server for tests. It forgets everything when it is closed."""

    _template = DATABASE

    def __init__(self) -> None:
        # Not below pytest's own folder: as root the server runs as another user, who may not enter that one.
        self.folder = Path(tempfile.mkdtemp(prefix="longhaul-test-"))
        self.folder.chmod(0o711)
        self._embedded: Embedded = self._attach()

    def _attach(self) -> Embedded:
        system_folder = self.folder / "system"
        return attach(self.folder / "home", durable=False, system_folder=system_folder)

    @property
    def pid(self) -> int:
        """The server's own process."""
        return int((self._embedded.place.data / "postmaster.pid").read_text().split("\n", 1)[0])

    def close(self) -> None:
        """Stop it and remove its files."""
        self._embedded.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def clone(self) -> Iterator[Clone]:
        """A database of its own, with the schema and nothing else in it; dropped at the end."""
        name = f"test_{uuid4().hex[:12]}"
        self._execute("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY OWNER {}", name, self._template, OWNER)
        try:
            yield Clone(name, *(self._address(url, name) for url in self._urls()))
        finally:
            self._execute("DROP DATABASE {} WITH (FORCE)", name)

    def stop(self) -> None:
        """Stop it as an operator would; connections break."""
        self._embedded.close()

    def kill(self) -> None:
        """Kill it as a crash of its machine would, every process of it at once."""
        os.kill(self.pid, signal.SIGKILL)

    def start(self) -> None:
        """Start it again after `stop` or `kill`, at the same addresses."""
        before, self._embedded = self._embedded, self._attach()
        before.close()

    def wait_for(self, query: str, clone: Clone, seconds: float = 10) -> None:
        """Wait until the query's first value is true, asked as superuser."""
        deadline = time.monotonic() + seconds
        with psycopg.connect(plain(clone.superuser_url), autocommit=True) as connection:
            while not (connection.execute(query.encode()).fetchone() or (False,))[0]:
                if time.monotonic() > deadline:
                    raise TimeoutError(query)
                time.sleep(0.02)

    def _urls(self) -> tuple[str, str, str]:
        return self._embedded.url, self._embedded.owner_url, self._embedded.superuser_url

    @staticmethod
    def _address(url: str, database: str) -> str:
        return make_url(url).set(database=database).render_as_string(hide_password=False)

    def _execute(self, statement: str, *names: str) -> None:
        with psycopg.connect(plain(self._urls()[2]), autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


class Lent(Postgres):
    """A server that is there, by its superuser's address; it has to trust who comes from here.

    It is given back as it was: our databases and roles are dropped. One that has Longhaul's roles is somebody's.
    """

    _ROLES = (LOGIN, ENGINE_ROLE, APP_ROLE, OWNER)

    def __init__(self, superuser_url: str) -> None:
        self._superuser = make_url(superuser_url).set(drivername="postgresql+psycopg")
        self._template = f"test_{uuid4().hex[:12]}"
        with psycopg.connect(plain(self._urls()[2]), autocommit=True) as connection:
            if connection.execute("SELECT FROM pg_roles WHERE rolname = ANY(%s)", (list(self._ROLES),)).fetchone():
                raise Misconfigured("That server has Longhaul's roles: tests would change them. Lend another one.")
        self._execute("CREATE ROLE {} LOGIN CREATEROLE", OWNER)
        try:
            self._execute("CREATE DATABASE {} OWNER {}", self._template, OWNER)
            upgrade(self._urls()[1], LOGIN)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """A lent server is left running."""
        pytest.skip("needs a server of its own")

    def close(self) -> None:
        """Drop what is ours."""
        self._execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", self._template)
        for role in self._ROLES:
            self._execute("DROP ROLE IF EXISTS {}", role)

    def stop(self) -> None:
        """A lent server is left running."""
        pytest.skip("needs a server of its own")

    kill = start = stop

    def _urls(self) -> tuple[str, str, str]:
        ours = self._superuser.set(database=self._template)
        urls = (ours.set(username=LOGIN), ours.set(username=OWNER), self._superuser)
        login, owner, superuser = (url.render_as_string(hide_password=False) for url in urls)
        return login, owner, superuser
