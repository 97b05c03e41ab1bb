"""The claim hook: a wake-up becomes a job or nothing, and never a body without a claim."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import dramatiq
import pytest
from dramatiq import Worker

from base.clock import now
from base.settings import Settings
from broker.embedded import Embedded
from broker.held import put_in_hand
from broker.life import StepActor, Unclaimed
from broker.local import LocalBroker
from broker.process import WorkerProcess
from broker.step import steps
from broker.wake import wake
from middleware.claim import ClaimJob
from tests.broker.jobs_under_test import Jobs
from tests.broker.steps_under_test import LANE, InFolder, Nothing
from tests.broker.until import until


class _Recording(StepActor):
    """An actor that notes that Dramatiq called it, claim or no claim."""

    calls: int = 0

    def __call__(self) -> None:
        type(self).calls += 1


@pytest.fixture
def recording(settings: Settings) -> Iterator[LocalBroker]:
    """A worker with the claim hook and nothing else around its step."""
    process = WorkerProcess(settings)
    broker = LocalBroker(middleware=[ClaimJob(process)])
    _Recording.calls = 0
    _Recording(process, steps()["brokertest.noop"], broker)
    worker = Worker(broker, queues={LANE}, worker_threads=1, worker_timeout=50)
    worker.start()
    yield broker
    worker.stop()


def test_a_hook_that_raises_does_not_run_the_body(recording: LocalBroker) -> None:
    # The process was never opened: asking it for its database raises, as a bug in the hook would
    recording.wakes().send(LANE, {"brokertest.noop": 3})

    until(lambda: recording.wakes().ready(LANE) == 0)
    _processed(recording)

    assert _Recording.calls == 0


def test_a_step_without_a_claim_refuses(settings: Settings) -> None:
    put_in_hand(None)
    broker = LocalBroker(middleware=[])
    actor = StepActor(WorkerProcess(settings), steps()["brokertest.noop"], broker)

    with pytest.raises(Unclaimed):
        actor()


def test_nothing_runnable_is_no_reason_to_run(worker: Embedded, jobs: Jobs) -> None:
    wake(LANE, "brokertest.noop", 5)
    job = jobs.insert("brokertest.noop", Nothing())

    until(lambda: jobs.state(job) == "done")
    assert jobs.row(job).attempts == 1


def test_a_process_holds_one_suspect_at_a_time(worker: Embedded, jobs: Jobs, tmp_path: Path) -> None:
    requests = [InFolder(folder=tmp_path, name=f"suspect-{n}") for n in range(3)]
    waits = InFolder(folder=tmp_path, name="waits")
    later = now() + timedelta(hours=1)
    # Given three jobs that lost a worker before, and a healthy one behind them
    ids = [jobs.insert("brokertest.passes", request, due_at=later) for request in requests]
    jobs.execute("UPDATE jobs SET recoveries = 1, fence = 1 WHERE id = ANY(%s)", ids)
    jobs.execute("UPDATE jobs SET due_at = now()")
    healthy = jobs.insert("brokertest.note", waits)

    until(lambda: jobs.state(healthy) == "done")
    until(lambda: sum(request.marked("started") for request in requests) == 1)
    first = next(request for request in requests if request.marked("started"))
    first.mark("go")
    until(lambda: sum(request.marked("started") for request in requests) == 2)
    assert sum(jobs.state(job) == "running" for job in ids) == 1


def _processed(broker: LocalBroker) -> None:
    """Wait until the worker has nothing in hand: a last message of its own kind comes after all others."""
    seen: list[int] = []
    dramatiq.actor(actor_name="brokertest.last", queue_name=LANE, broker=broker)(lambda: seen.append(1))
    broker.wakes().send(LANE, {"brokertest.last": 1})
    until(lambda: bool(seen))
