"""PostgreSQL for tests: the embedded server in a home of its own, and databases cloned from a migrated template."""

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
from psycopg import sql

from schema.embedded import DATABASE, OWNER, Embedded, attach


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
        self._execute(sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY OWNER {}"), name, DATABASE, OWNER)
        try:
            yield Clone(name, *(self._address(url, name) for url in self._urls()))
        finally:
            self._execute(sql.SQL("DROP DATABASE {} WITH (FORCE)"), name)

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
        before, after = url.split("@/", 1)
        return f"{before}@/{database}?{after.split('?', 1)[1]}"

    def _execute(self, statement: sql.SQL, *names: str) -> None:
        with psycopg.connect(plain(self._embedded.superuser_url), autocommit=True) as connection:
            connection.execute(statement.format(*map(sql.Identifier, names)))
