"""The broker in memory: queues of a lane each, threads that take one message each, nothing kept of time."""

import threading
from collections.abc import Iterator

import dramatiq
import pytest
from dramatiq import Worker

from base.errors import Misconfigured
from broker.delivery import Delivery, wake_up
from broker.local import LocalBroker
from tests.broker.until import until

LANE, TASK = "local", "local.hold"


class Runs:
    """Runs that last until they are let go."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.go = threading.Event()

    def hold(self) -> None:
        self.started.append(threading.current_thread().name)
        self.go.wait(10)


@pytest.fixture
def runs() -> Runs:
    return Runs()


@pytest.fixture
def broker(runs: Runs) -> Iterator[LocalBroker]:
    broker = LocalBroker(middleware=[])
    dramatiq.actor(actor_name=TASK, queue_name=LANE, broker=broker)(runs.hold)
    yield broker
    runs.go.set()


def _work(broker: LocalBroker, threads: int) -> Worker:
    worker = Worker(broker, queues={LANE}, worker_threads=threads, worker_timeout=50)
    worker.queue_prefetch = threads
    worker.start()
    return worker


def test_what_no_thread_is_free_for_stays_in_the_queue(broker: LocalBroker, runs: Runs) -> None:
    worker = _work(broker, threads=2)
    broker.wakes().send(LANE, {TASK: 5})

    until(lambda: len(runs.started) == 2)
    assert broker.wakes().ready(LANE) == 3
    runs.go.set()
    until(lambda: len(runs.started) == 5)
    worker.stop()


def test_while_draining_nothing_is_taken(broker: LocalBroker, runs: Runs) -> None:
    broker.draining.set()
    worker = _work(broker, threads=2)
    broker.wakes().send(LANE, {TASK: 1})

    worker.stop()

    assert runs.started == []
    assert broker.wakes().ready(LANE) == 1


def test_a_message_that_is_kept_goes_back(broker: LocalBroker) -> None:
    consumer = broker.consume(LANE, prefetch=1, timeout=50)
    broker.enqueue(wake_up(LANE, TASK))
    delivery = next(consumer)
    assert isinstance(delivery, Delivery)

    delivery.keep()
    consumer.ack(delivery)  # type: ignore[arg-type]

    assert broker.wakes().ready(LANE) == 1
    assert next(consumer) is not None


def test_lanes_have_workers_of_their_own_without_a_warning(
    broker: LocalBroker, caplog: pytest.LogCaptureFixture
) -> None:
    workers = [_work(broker, threads=1), _work(broker, threads=1)]
    for worker in workers:
        worker.stop()

    assert "twice" not in caplog.text


def test_there_is_no_delay_and_no_lane_nobody_works_in(broker: LocalBroker) -> None:
    with pytest.raises(ValueError, match="due time"):
        broker.enqueue(wake_up(LANE, TASK), delay=1)
    with pytest.raises(Misconfigured, match="lane named elsewhere"):
        broker.wakes().send("elsewhere", {TASK: 1})
