"""What a process knows of the claims it holds: why one stops, and how many suspects it may hold."""

import asyncio
import threading
from collections.abc import Iterator
from uuid import UUID

import pytest

from base.clock import monotonic, now
from base.errors import Canceled, ClaimLost, HandOver
from broker.held import Held, Registry
from broker.loop import Loop
from ledger.claiming import Claim


def _claim(number: int = 1, fence: int = 1) -> Claim:
    return Claim(
        job_id=UUID(int=number),
        account_id=UUID(int=9),
        task="brokertest.noop",
        lane="test",
        key=None,
        fence=fence,
        attempts=1,
        max_attempts=1,
        recoveries=0,
        max_recoveries=None,
        worker_id=UUID(int=8),
        created_at=now(),
        claimed_at=now(),
        payload={},
    )


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop(sql_threads=1)
    yield loop
    loop.close()


def test_a_run_goes_on_until_its_process_drains() -> None:
    draining = threading.Event()
    held = Held(_claim(), draining=draining)
    held.check()

    draining.set()

    with pytest.raises(HandOver):
        held.check()


def test_a_run_hands_over_before_its_message_is_taken_back() -> None:
    Held(_claim(), hand_over_at=monotonic() + 60).check()

    with pytest.raises(HandOver):
        Held(_claim(), hand_over_at=monotonic()).check()


def test_the_first_reason_stays_and_the_run_is_cancelled(loop: Loop) -> None:
    held = Held(_claim())
    run = loop.run(asyncio.sleep(60))
    held.attach(run)

    held.stop(ClaimLost("taken"))
    held.stop(HandOver("too late"))

    with pytest.raises(asyncio.CancelledError):
        run.wait()
    assert isinstance(held.reason, ClaimLost)
    with pytest.raises(ClaimLost):
        held.check()


def test_a_run_stopped_before_it_began_is_cancelled_as_it_begins(loop: Loop) -> None:
    held = Held(_claim())
    held.stop(Canceled("by an operator"))
    run = loop.run(asyncio.sleep(60))

    held.attach(run)

    with pytest.raises(asyncio.CancelledError):
        run.wait()


def test_once_it_is_over_there_is_nothing_left_to_stop() -> None:
    held = Held(_claim())
    held.over()

    held.stop(ClaimLost("taken"))

    assert held.reason is None


def test_claims_of_one_job_are_told_apart_by_their_fence() -> None:
    registry = Registry()
    first, second = Held(_claim(fence=1)), Held(_claim(fence=2))
    registry.add(first)
    registry.add(second)

    registry.discard(first)

    assert registry.all() == [second]
    assert (UUID(int=1), 2) in registry
    assert (UUID(int=1), 1) not in registry
    assert not registry.wait_until_empty(0)


def test_one_suspect_at_a_time() -> None:
    registry = Registry()

    assert registry.may_take_suspect()
    assert not registry.may_take_suspect()
    registry.release_suspect()
    assert registry.may_take_suspect()
