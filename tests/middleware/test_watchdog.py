"""The watchdog: what ends a process, and what does not."""

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from base.errors import Canceled
from base.settings import Settings
from broker import canceling
from broker.embedded import Embedded
from middleware import watchdog
from middleware.watchdog import Watchdog
from schema.engine import Database
from tests.broker.jobs_under_test import Jobs
from tests.broker.processes import WorkerUnderTest
from tests.broker.steps_under_test import InFolder
from tests.broker.until import until


@pytest.fixture
def settings() -> Settings:
    return Settings.model_validate({"worker": {"threads": 1, "cancel_grace": 0.2}})


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Why the process would have been ended."""
    reasons: list[str] = []
    monkeypatch.setattr(watchdog, "end", reasons.append)
    return reasons


@pytest.fixture
def dog(worker: Embedded) -> Watchdog:
    (dog,) = {one for one in worker._workers[0].broker.middleware if isinstance(one, Watchdog)}
    return dog


def test_a_process_that_works_has_no_fault(
    worker: Embedded, dog: Watchdog, jobs: Jobs, tmp_path: Path, ends: list[str]
) -> None:
    request = InFolder(folder=tmp_path)
    jobs.insert("brokertest.hold", request)
    until(lambda: request.marked("started"))
    assert {"loop", "signals", "relay", "beat"} <= set(dog._process.vital)
    assert list(dog.faults()) == []
    request.mark("go")
    assert worker.idle(5)
    assert ends == []


def test_a_cancelled_coroutine_that_goes_on_ends_the_process(
    worker: Embedded, dog: Watchdog, jobs: Jobs, tmp_path: Path, ends: list[str]
) -> None:
    request = InFolder(folder=tmp_path)
    job = jobs.insert("brokertest.stubborn", request)
    until(lambda: request.marked("started"))
    assert list(dog.faults()) == []
    (held,) = dog._process.held.all()
    held.stop(Canceled("An operator said so."))
    until(lambda: ends)
    assert str(job) in ends[0]
    assert "has not ended" in ends[0]
    request.mark("go")


@pytest.mark.usefixtures("worker")
def test_a_blocked_loop_ends_the_process(
    jobs: Jobs, tmp_path: Path, ends: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "LONGEST_LAG", 0.5)
    request = InFolder(folder=tmp_path)
    jobs.insert("brokertest.blocking", request)
    until(lambda: ends)
    assert "event loop" in ends[0]
    request.mark("go")


@pytest.mark.parametrize("name", ["beat", "relay", "signals"])
def test_a_dead_thread_ends_the_process(dog: Watchdog, ends: list[str], name: str) -> None:
    dog._process.vital[name] = lambda: False
    until(lambda: ends)
    assert name in ends[0]


def test_a_dead_worker_thread_ends_the_process(worker: Embedded, dog: Watchdog, ends: list[str]) -> None:
    for thread in worker._workers[0].workers:
        thread.stop()
    until(lambda: ends)
    assert "WorkerThread" in ends[0]


def test_an_ending_process_lets_its_threads_go(worker: Embedded, dog: Watchdog, ends: list[str]) -> None:
    dog._process.draining.set()
    for thread in worker._workers[0].workers:
        thread.stop()
        thread.join()
    assert list(dog.faults()) == []
    assert ends == []


def test_a_worker_whose_run_will_not_end_ends_and_the_job_stays_canceled(
    start: Callable[..., WorkerUnderTest], jobs: Jobs, database: Database, account_id: UUID, tmp_path: Path
) -> None:
    worker = start(LONGHAUL_WORKER__CANCEL_GRACE="0.5", LONGHAUL_ENRICHMENT_RUN_RECOVERY__HEARTBEAT_INTERVAL="0.2")
    worker.ready()
    request = InFolder(folder=tmp_path)
    job = jobs.insert("brokertest.stubborn", request)
    until(lambda: request.marked("started"))
    canceling.cancel(database, account_id, job, by="an operator")
    assert worker.wait() != 0
    assert "the process ends itself" in worker.said
    assert "has not ended" in worker.said
    assert jobs.state(job) == "canceled"
