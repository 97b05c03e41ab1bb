"""The relay keeps a level; `wake` is its faster, forgetful sister."""

import threading
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import Transient
from base.settings import Settings
from broker import wake
from broker.local import LocalBroker
from broker.relay import Relay, difference
from ledger import waking, workers
from schema.engine import Database
from tests.broker.jobs_under_test import Jobs
from tests.broker.steps_under_test import LANE, Nothing
from tests.broker.until import until

COUNTS = st.dictionaries(st.text(min_size=1, max_size=3), st.integers(1, 50), max_size=5)


@given(COUNTS, st.integers(0, 300))
def test_what_is_sent_fills_the_queue_up_to_what_could_run_and_no_further(counts: dict[str, int], ready: int) -> None:
    sent = difference(counts, ready)

    assert sum(sent.values()) == max(0, sum(counts.values()) - ready)
    assert all(0 < sent[task] <= counts[task] for task in sent)


@pytest.fixture
def broker() -> LocalBroker:
    broker = LocalBroker(middleware=[])
    broker.declare_queue(LANE)
    return broker


def test_a_lane_is_topped_up_once(database: Database, jobs: Jobs, settings: Settings, broker: LocalBroker) -> None:
    workers.register(database, lanes=[LANE], tasks=["brokertest.noop"])
    for _ in range(3):
        jobs.insert("brokertest.noop", Nothing())
    relay = Relay(settings, database, broker.wakes(), [LANE])

    assert relay.top_up(LANE) == 3
    assert relay.top_up(LANE) == 0
    broker.queues[LANE].take(0)
    assert relay.top_up(LANE) == 1


def test_never_more_than_the_target_waits(
    database: Database, jobs: Jobs, broker: LocalBroker, settings: Settings
) -> None:
    workers.register(database, lanes=[LANE], tasks=["brokertest.noop"])
    for _ in range(5):
        jobs.insert("brokertest.noop", Nothing())
    small = settings.model_copy(update={"broker": settings.broker.model_copy(update={"wake_target": 2})})

    assert Relay(small, database, broker.wakes(), [LANE]).top_up(LANE) == 2


def test_another_process_s_turn_is_left_to_it(
    database: Database, jobs: Jobs, settings: Settings, broker: LocalBroker
) -> None:
    workers.register(database, lanes=[LANE], tasks=["brokertest.noop"])
    jobs.insert("brokertest.noop", Nothing())
    relay = Relay(settings, database, broker.wakes(), [LANE])
    other = database.apart()

    with waking.turn(other, LANE, limit=10) as theirs:
        assert theirs == {"brokertest.noop": 1}
        assert relay.top_up(LANE) == 0
    assert relay.top_up(LANE) == 1
    other.close()


class _Refusing:
    """A broker that takes nothing, then everything."""

    def __init__(self) -> None:
        self.sent: list[Mapping[str, int]] = []
        self.away = True
        self.asked = threading.Event()

    def ready(self, lane: str) -> int:
        return 0

    def send(self, lane: str, tasks: Mapping[str, int]) -> None:
        self.asked.set()
        if self.away:
            raise Transient("away")
        self.sent.append(dict(tasks))

    def close(self) -> None: ...


def test_wake_neither_waits_nor_raises_and_sends_together_what_came_meanwhile() -> None:
    wakes = _Refusing()
    waker = wake.Waker(wakes)
    wake.use(waker)
    try:
        wake.wake(LANE, "one")
        until(wakes.asked.is_set)
        assert waker.flush(5)
        wakes.away = False
        for _ in range(5):
            wake.wake(LANE, "one", 2)
        assert waker.flush(5)
    finally:
        wake.use(None)
        waker.close()

    assert sum(tasks["one"] for tasks in wakes.sent) == 10
    wake.wake(LANE, "nobody publishes this")
