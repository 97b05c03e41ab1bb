"""Worker processes of one lane, and what their database says of them whoever's account it is."""

import os
import threading
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from actors.enrichment.run import LANE
from tests.broker.processes import ROOT, WorkerUnderTest
from tests.services.postgres import Clone, plain


class Fleet:
    """`dramatiq actors` as on servers, several of them."""

    def __init__(self, rabbit: str, clone: Clone, folder: Path) -> None:
        self._env = {"LONGHAUL_BROKER_URL": rabbit, "LONGHAUL_DATABASE_URL": clone.url}
        self._owner = plain(clone.superuser_url)
        self._folder = folder
        self._all: list[WorkerUnderTest] = []
        self._doomed = threading.Event()

    def start(self, *, threads: int = 2, **settings: str) -> WorkerUnderTest:
        """One more."""
        log = self._folder / f"worker-{len(self._all) + 1}.log"
        worker = WorkerUnderTest(
            log,
            {**self._env, **settings},
            *("actors", "--path", str(ROOT), "--processes", "1", "--threads", str(threads), "-Q", LANE),
        )
        self._all.append(worker)
        return worker

    def kill_all(self) -> None:
        """End them as a crash would."""
        for worker in self._all:
            worker.kill()

    def holder(self, job_id: UUID) -> WorkerUnderTest | None:
        """Whoever runs the job now."""
        rows = self.look(
            "SELECT w.pid FROM jobs j JOIN workers w ON w.id = j.worker_id WHERE j.id = %s AND j.state = 'running'",
            job_id,
        )
        for worker in self._all if rows else ():
            if worker.is_alive() and os.getpgid(rows[0]["pid"]) == worker.pid:
                return worker
        return None

    def doom(self) -> None:
        """Whoever holds the deadly job is to die; said in the model's thread, done in the test's."""
        self._doomed.set()

    def bury_the_doomed(self, job_id: UUID) -> None:
        """Kill the holder of the job, if that was asked for."""
        if self._doomed.is_set() and (holder := self.holder(job_id)) is not None:
            self._doomed.clear()
            holder.kill()

    def has_life(self) -> bool:
        """Whether any worker runs."""
        return any(worker.is_alive() for worker in self._all)

    def look(self, query: str, *values: object) -> list[dict[str, Any]]:
        """Rows, of every account."""
        with psycopg.connect(self._owner, row_factory=dict_row) as connection:
            return connection.execute(query.encode(), values).fetchall()
