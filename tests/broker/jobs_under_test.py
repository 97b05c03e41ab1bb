"""Jobs of the steps for tests: insert them, and read what became of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

import psycopg
from psycopg import sql
from pydantic import BaseModel

from ledger.inserting import insert
from schema.engine import Database
from tests.services.postgres import Clone, plain


@dataclass(frozen=True)
class Row:
    """What a test looks at of a job."""

    state: str
    reason: str | None
    error: str | None
    attempts: int
    recoveries: int
    fence: int
    worker_id: UUID | None


@dataclass(frozen=True)
class Jobs:
    """The jobs of one account in a test's database."""

    database: Database
    clone: Clone
    account_id: UUID

    def insert(self, task: str, payload: BaseModel, **more: object) -> UUID:
        with self.database.account(self.account_id) as connection:
            inserted = insert(connection, task, payload, account_id=self.account_id, **more)  # type: ignore[arg-type]
        return inserted.job_id

    def row(self, job_id: UUID) -> Row:
        """The job, read behind everybody's back."""
        with psycopg.connect(plain(self.clone.superuser_url)) as connection:
            found = connection.execute(
                "SELECT state, reason, error, attempts, recoveries, fence, worker_id FROM jobs WHERE id = %s", [job_id]
            ).fetchone()
        assert found is not None
        return Row(*found)

    def result(self, job_id: UUID) -> object:
        with psycopg.connect(plain(self.clone.superuser_url)) as connection:
            found = connection.execute("SELECT result FROM job_bodies WHERE job_id = %s", [job_id]).fetchone()
        return found and found[0]

    def state(self, job_id: UUID) -> str:
        return self.row(job_id).state

    def execute(self, statement: str, *values: object) -> int:
        """Change something behind everybody's back; how many rows it changed."""
        with psycopg.connect(plain(self.clone.superuser_url)) as connection:
            return connection.execute(statement.encode(), values).rowcount

    def count(self, condition: str = "true") -> int:
        with psycopg.connect(plain(self.clone.superuser_url)) as connection:
            found = connection.execute(f"SELECT count(*) FROM jobs WHERE {condition}".encode()).fetchone()
        assert found is not None
        return int(found[0])

    @contextmanager
    def outage(self) -> Iterator[None]:
        """Every connection to this test's database breaks, and none is let in while the block runs."""
        with psycopg.connect(plain(self._elsewhere()), autocommit=True) as server:
            name = sql.Identifier(self.clone.name)
            server.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
            server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [self.clone.name]
            )
            yield
            server.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(name))

    def _elsewhere(self) -> str:
        return self.clone.superuser_url.replace(f"/{self.clone.name}?", "/postgres?")
