"""The safe consumer: what it takes, what it acknowledges, what it gives back."""

import json
import logging
from collections.abc import Iterator

import pika
import pytest

from base.settings import Broker as BrokerSettings
from broker.queues import QueuesDiffer, dead_letters
from tests.broker.bench_of_threads import LANE, TASK, Bench
from tests.broker.until import until
from tests.services.rabbit_kinds import ON_EVERY_KIND, Kind

pytestmark = ON_EVERY_KIND


@pytest.fixture(autouse=True)
def _soon_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dramatiq.worker.CONSUMER_RESTART_DELAY_SECS", 0.1)


@pytest.fixture
def bench(lane_url: str, rabbit_kind: Kind) -> Iterator[Bench]:
    bench = Bench(lane_url, BrokerSettings(queue_type=rabbit_kind.queue_type))
    yield bench
    bench.close()


def test_a_late_ack_after_a_channel_reset_loses_nothing(bench: Bench) -> None:
    # Given a job whose channel dies while it runs, so that its message is delivered anew, as number 1 once more
    bench.send()
    worker = bench.work(threads=2)
    until(lambda: bench.started == 1)
    bench.reset_channel(worker)
    until(lambda: bench.started == 2)

    # When it ends, late, and acknowledges its number 1
    bench.let_go(0)
    until(lambda: len(bench.broker._in_hand[LANE]) == 1)

    # Then the second delivery is still unacknowledged: it comes again when this consumer dies
    bench.drop_connection(worker)
    until(lambda: bench.started == 3, 5)


def test_no_message_is_taken_while_no_thread_is_free(bench: Bench) -> None:
    bench.send()
    worker = bench.work(threads=1)
    until(lambda: bench.started == 1)

    bench.reset_channel(worker)
    bench.send()

    # The one it had, given back, and the new one: anybody's who has a thread
    until(lambda: bench.ready() == 2)
    bench.let_go(0)
    until(lambda: bench.started == 2)
    assert bench.ready() == 1


def test_a_draining_consumer_takes_no_new_message(bench: Bench) -> None:
    bench.send()
    bench.work(threads=2)
    until(lambda: bench.started == 1)

    bench.broker.draining.set()
    bench.send(3)
    until(lambda: bench.ready() >= 3)
    bench.let_go(0)
    until(lambda: not bench.broker._in_hand[LANE])

    assert bench.started == 1
    assert bench.ready() >= 3


def test_a_draining_consumer_gives_back_what_no_thread_began(bench: Bench) -> None:
    bench.send(3)
    bench.work(threads=1, prefetch=3)
    until(lambda: len(bench.broker._in_hand[LANE]) == 3)

    bench.broker.draining.set()

    until(lambda: bench.ready() == 3)


def test_a_message_that_can_not_be_read_goes_to_the_dead_letters_once(bench: Bench) -> None:
    bench.work(threads=1)
    for body in (b"\x00nonsense", b"{}", b'{"actor_name": 7}'):
        bench.send_raw(body)
    bench.send()

    until(lambda: bench.started == 1)
    until(lambda: bench.ready(dead_letters(LANE)) == 3)
    assert bench.ready() == 0


def test_a_wake_up_for_a_task_of_another_version_is_acknowledged(bench: Bench) -> None:
    bench.work(threads=1)
    bench.send_raw(_message(actor_name="brokertest.of-tomorrow"))
    bench.send()

    until(lambda: bench.started == 1)
    assert bench.ready() == 0
    assert bench.ready(dead_letters(LANE)) == 0


def test_what_a_message_says_of_queue_and_time_is_not_believed(bench: Bench) -> None:
    worker = bench.work(threads=1)
    bench.send_raw(_message(queue_name="elsewhere", options={"eta": 99_999_999_999_999}, args=[1, 2, 3]))

    until(lambda: bench.started == 1)
    bench.let_go(0)
    until(lambda: not bench.broker._in_hand[LANE])
    assert all(thread.is_alive() for thread in worker.workers)


def test_dead_letters_are_bounded_and_there_is_no_delay_queue(lane_url: str, rabbit_kind: Kind) -> None:
    bench = Bench(lane_url, BrokerSettings(queue_type=rabbit_kind.queue_type, dead_letter_limit=5))
    bench.work(threads=1)
    for _ in range(8):
        bench.send_raw(b"nonsense")
    bench.send()
    until(lambda: bench.started == 1)
    until(lambda: bench.ready(dead_letters(LANE)) == 5)

    with pytest.raises(pika.exceptions.ChannelClosedByBroker, match="no queue"):
        bench.ready(f"{LANE}.DQ")
    bench.close()


def test_queue_arguments_that_differ_end_the_consumer_with_one_sentence(
    bench: Bench, rabbit_kind: Kind, caplog: pytest.LogCaptureFixture
) -> None:
    bench.channel().queue_declare(
        dead_letters(LANE),
        durable=True,
        arguments={"x-queue-type": rabbit_kind.queue_type, "x-max-length": 7, "x-message-ttl": 604_800_000},
    )
    refusals: list[str] = []
    bench.broker.on_refusal = refusals.append

    with pytest.raises(QueuesDiffer) as told:
        bench.broker.check([LANE])
    worker = bench.worker(threads=1)
    until(lambda: not worker.consumers[LANE].is_alive())

    assert "`test.XQ`" in str(told.value)
    assert "x-max-length is 7 there, 1000 here" in str(told.value)
    assert "delete_queue test.XQ" in str(told.value)
    assert "LONGHAUL_BROKER__DEAD_LETTER_LIMIT" in str(told.value)
    assert refusals == [str(told.value)]
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == [
        f"Consumer encountered a connection error: {told.value}"
    ]


def _message(**fields: object) -> bytes:
    sent = {"queue_name": LANE, "actor_name": TASK, "args": [], "kwargs": {}, "options": {}} | fields
    return json.dumps(sent | {"message_id": "1", "message_timestamp": 1}).encode()
