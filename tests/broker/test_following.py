"""One wake-up, several jobs: a thread goes on with what it claimed at the end of the last one."""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from dramatiq.middleware import SkipMessage

from base.settings import Settings
from broker import life
from broker.delivery import Delivery, wake_up
from broker.held import in_hand
from broker.life import declare_actors
from broker.local import LocalBroker
from broker.process import WorkerProcess
from middleware.stack import stack
from schema.engine import Database
from tests.broker.jobs_under_test import Jobs
from tests.broker.steps_under_test import LANE, InFolder, Nothing
from tests.broker.until import until

NOOP = "brokertest.noop"


class Thread:
    """What a worker thread of Dramatiq does with a message, in the thread of the test; no relay sends another."""

    def __init__(self, process: WorkerProcess, broker: LocalBroker) -> None:
        self.process = process
        self._broker = broker

    def wake(self) -> None:
        """Process one wake-up to its end."""
        delivery = Delivery(wake_up(LANE, NOOP))
        try:
            self._broker.emit_before("process_message", delivery)
            self._broker.get_actor(NOOP)()
        except SkipMessage:
            self._broker.emit_after("skip_message", delivery)
        else:
            self._broker.emit_after("process_message", delivery)
        assert in_hand() is None
        assert not self.process.held.all()


@pytest.fixture
def thread(settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Thread]:
    """However long a job takes on this machine, it is followed by the next."""
    monkeypatch.setattr(life, "_GOES_ON_SECONDS", math.inf)
    process = WorkerProcess(settings)
    broker = LocalBroker(middleware=stack(process), draining=process.draining)
    declare_actors(process, broker)
    process.open(database, broker, [])
    yield Thread(process, broker)
    process.close()


def test_one_wake_up_works_off_what_is_runnable(thread: Thread, jobs: Jobs) -> None:
    ids = [jobs.insert(NOOP, Nothing()) for _ in range(4)]

    thread.wake()

    assert {jobs.state(job) for job in ids} == {"done"}
    assert {(jobs.row(job).attempts, jobs.row(job).fence) for job in ids} == {(1, 1)}


def test_an_old_wake_up_brings_one_job(thread: Thread, jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """RabbitMQ takes a message back after a while: the next job gets one of its own, with all of that time."""
    monkeypatch.setattr(life, "_GOES_ON_SECONDS", 0)
    for _ in range(2):
        jobs.insert(NOOP, Nothing())

    thread.wake()

    assert (jobs.count("state = 'done'"), jobs.count("state = 'pending'")) == (1, 1)


def test_a_job_that_fails_is_not_followed(thread: Thread, jobs: Jobs, tmp_path: Path) -> None:
    broken = jobs.insert("brokertest.broken", InFolder(folder=tmp_path))
    after = jobs.insert(NOOP, Nothing())

    thread.wake()
    assert (jobs.state(broken), jobs.state(after)) == ("failed", "pending")

    thread.wake()
    assert jobs.state(after) == "done"


def test_a_suspect_is_not_followed_by_another(thread: Thread, jobs: Jobs) -> None:
    ids = [jobs.insert(NOOP, Nothing()) for _ in range(3)]
    jobs.execute("UPDATE jobs SET recoveries = 1 WHERE id = ANY(%s)", ids[1:])

    thread.wake()
    assert [jobs.state(job) for job in ids] == ["done", "done", "pending"]

    thread.wake()
    assert jobs.state(ids[2]) == "done"


def test_a_process_that_drains_claims_no_other(thread: Thread, jobs: Jobs, tmp_path: Path) -> None:
    request = InFolder(folder=tmp_path)
    held = jobs.insert("brokertest.hold", request)
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(thread.wake)
        until(lambda: request.marked("started"))
        after = jobs.insert(NOOP, Nothing())
        thread.process.draining.set()
        request.mark("go")
        ended.result(15)

    assert (jobs.state(held), jobs.state(after)) == ("done", "pending")


def test_what_was_claimed_when_the_drain_began_is_run(
    thread: Thread, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Skipped, it would wait for the beat to be found."""
    ids = [jobs.insert(NOOP, Nothing()) for _ in range(2)]
    take = WorkerProcess.take

    def drain_after_the_second(process: WorkerProcess, *what: object) -> object:
        held = take(process, *what)  # type: ignore[arg-type]
        if held is not None and held.claim.job_id == ids[1]:
            process.draining.set()
        return held

    monkeypatch.setattr(WorkerProcess, "take", drain_after_the_second)
    thread.wake()

    assert [jobs.state(job) for job in ids] == ["done", "done"]
