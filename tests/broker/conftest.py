"""What the broker's tests share: jobs of their own, and a worker in this process."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from uuid import UUID

import pytest

from base.settings import Settings
from broker.embedded import Embedded
from middleware import embedded
from schema.engine import Database
from tests.broker import steps_under_test
from tests.broker.jobs_under_test import Jobs
from tests.broker.lane_under_test import Lane
from tests.broker.processes import ROOT, WorkerUnderTest
from tests.services.postgres import Clone
from tests.services.rabbit_kinds import Kind


@pytest.fixture
def jobs(database: Database, clone: Clone, account_id: UUID) -> Jobs:
    return Jobs(database, clone, account_id)


@pytest.fixture
def settings() -> Settings:
    return Settings()


@pytest.fixture
def worker(settings: Settings, database: Database) -> Iterator[Embedded]:
    """A worker of the tests' lane in this process, over the local broker."""
    with embedded.running(settings, database, [steps_under_test.LANE], sweeps=lambda: None, tick=False) as running:
        yield running


@pytest.fixture
def lane(rabbit: str, rabbit_kind: Kind) -> Lane:
    """The tests' lane in a vhost of its own, without queues as yet."""
    lane = Lane(rabbit, rabbit_kind.queue_type)
    lane.delete()
    return lane


@pytest.fixture
def lane_url(lane: Lane) -> str:
    return lane.url


@pytest.fixture
def start(lane_url: str, rabbit_kind: Kind, clone: Clone, tmp_path: Path) -> Iterator[Callable[..., WorkerUnderTest]]:
    """Starts `dramatiq tests.broker.actors_under_test -Q test`; what is still running at the end is killed."""
    with ExitStack() as started:
        numbers = count(1)

        def start(*arguments: str, threads: int = 2, **env: str) -> WorkerUnderTest:
            servers = {
                "LONGHAUL_BROKER_URL": lane_url,
                "LONGHAUL_BROKER__QUEUE_TYPE": rabbit_kind.queue_type,
                "LONGHAUL_DATABASE_URL": clone.url,
            }
            line = arguments or ("--processes", "1", "--threads", str(threads), "-Q", steps_under_test.LANE)
            worker = WorkerUnderTest(
                tmp_path / f"worker-{next(numbers)}.log",
                servers | env,
                "tests.broker.actors_under_test",
                "--path",
                str(ROOT),
                *line,
            )
            started.callback(worker.kill)
            return worker

        yield start
