"""What ledger tests act with: a few tasks, an account, workers, and eyes that see behind row security."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row
from pydantic import BaseModel
from sqlalchemy import Connection

from base.clock import monotonic
from ledger import claiming, inserting, waking, workers
from ledger.claiming import Claim
from ledger.policy import Ended, Policy, declare
from schema.engine import Database
from tests.services.postgres import Clone, plain

_WAITING = b"SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

LANE = "test"
STALE = timedelta(minutes=3)
STALL = timedelta(minutes=20)


class Payload(BaseModel):
    n: int = 0


class Result(BaseModel):
    answer: str


@dataclass
class Reactions:
    """What the tasks' reactions saw; `refuse` makes the next one raise."""

    seen: list[Ended] = field(default_factory=list)
    refuse: bool = False

    def __call__(self, connection: Connection, ended: Ended) -> None:
        if self.refuse:
            raise RuntimeError("this reaction refuses")
        self.seen.append(ended)


REACTIONS = Reactions()

#: One attempt; three with waits; recoveries; a gate of two; one that refuses a second request.
ONCE, TRIED, RECOVERED, GATED, REFUSING = (
    "ledger.once",
    "ledger.tried",
    "ledger.recovered",
    "ledger.gated",
    "ledger.refusing",
)
TASKS = (ONCE, TRIED, RECOVERED, GATED, REFUSING)

for policy in (
    Policy(task=ONCE, lane=LANE, payload=Payload, stale_after=STALE, stall_after=STALL),
    Policy(
        task=TRIED,
        lane=LANE,
        payload=Payload,
        stale_after=STALE,
        stall_after=STALL,
        max_attempts=3,
        ladder=(timedelta(0), timedelta(minutes=5)),
        on_end=REACTIONS,
    ),
    Policy(
        task=RECOVERED,
        lane=LANE,
        payload=Payload,
        stale_after=STALE,
        stall_after=STALL,
        max_recoveries=2,
        on_end=REACTIONS,
    ),
    Policy(task=GATED, lane=LANE, payload=Payload, stale_after=STALE, stall_after=STALL, gate="narrow", gate_slots=2),
    Policy(task=REFUSING, lane=LANE, payload=Payload, stale_after=STALE, stall_after=STALL, already_open="refuse"),
):
    declare(policy)


@dataclass
class Scene:
    """One account, one worker, one lane."""

    database: Database
    account_id: UUID
    superuser_url: str
    worker_id: UUID

    def insert(self, task: str = ONCE, **options: Any) -> UUID:
        with self.database.account(self.account_id) as connection:
            n = options.pop("n", 0)
            return inserting.insert(connection, task, Payload(n=n), account_id=self.account_id, **options).job_id

    def claim(self, tasks: Collection[str] = TASKS, **options: Any) -> Claim | None:
        return claiming.claim(self.database, self.worker_id, LANE, tasks, **options)

    def hold(self, task: str = ONCE, **options: Any) -> Claim:
        """Insert a job and claim it."""
        job_id = self.insert(task, **options)
        claim = self.claim([task])
        assert claim is not None
        assert claim.job_id == job_id
        return claim

    def enter(self, **options: Any) -> UUID:
        """Another worker."""
        return workers.register(self.database, lanes=[LANE], tasks=TASKS, **options)

    def row(self, job_id: UUID) -> dict[str, Any]:
        (row,) = self.look("SELECT * FROM jobs WHERE id = %s", job_id)
        return row

    def attempts(self, job_id: UUID) -> list[dict[str, Any]]:
        return self.look("SELECT * FROM job_attempts WHERE job_id = %s ORDER BY ended_at, id", job_id)

    def look(self, query: str, *values: object) -> list[dict[str, Any]]:
        """Rows as the superuser sees them: all accounts."""
        return self._eyes.execute(query.encode(), values).fetchall()

    def change(self, statement: str, *values: object) -> None:
        """Change the past, as the superuser."""
        self._eyes.execute(statement.encode(), values)

    def age(self, worker_id: UUID, by: timedelta) -> None:
        """Make a worker's last beat so old."""
        self.change("UPDATE workers SET beat_at = beat_at - %s WHERE id = %s", by, worker_id)

    def come_due(self) -> int:
        """Let the time come that pending jobs wait for; how many became runnable."""
        self.change("UPDATE jobs SET due_at = due_at - interval '2 days' WHERE state = 'pending' AND NOT ready")
        return waking.promote_due(self.database, LANE)

    def wait_until_somebody_waits_for_a_lock(self) -> None:
        with self.superuser() as connection:
            deadline = monotonic() + 5
            while not connection.execute(_WAITING).fetchall():
                assert monotonic() < deadline, "nobody waits"

    def close(self) -> None:
        self._eyes.close()

    @cached_property
    def _eyes(self) -> "psycopg.Connection[dict[str, Any]]":
        return psycopg.connect(plain(self.superuser_url), autocommit=True, row_factory=dict_row)

    @contextmanager
    def superuser(self) -> "Iterator[psycopg.Connection[dict[str, Any]]]":
        with psycopg.connect(plain(self.superuser_url), autocommit=True, row_factory=dict_row) as connection:
            yield connection


def scene_of(database: Database, account_id: UUID, clone: Clone) -> Scene:
    worker_id = workers.register(database, lanes=[LANE], tasks=TASKS)
    return Scene(database, account_id, clone.superuser_url, worker_id)
