"""What a step may declare."""

from dataclasses import replace
from datetime import timedelta

import pytest

from base.errors import Misconfigured
from ledger.policy import Policy, declare, declared, policy
from tests.ledger.scene import LANE, ONCE, RECOVERED, STALE, STALL, TRIED, Payload


def _policy(**options: object) -> Policy:
    given: dict[str, object] = {
        "task": "test.new",
        "lane": LANE,
        "payload": Payload,
        "stale_after": STALE,
        "stall_after": STALL,
    }
    return Policy(**{**given, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [{"task": "a@b"}, {"task": ""}, {"max_attempts": 2, "max_recoveries": 2}, {"max_attempts": 0}, {"gate_slots": 0}],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(Misconfigured):
        _policy(**wrong)


def test_one_attempt_unless_said_otherwise() -> None:
    assert policy(ONCE).attempt_limit == 1
    assert policy(TRIED).attempt_limit == 3
    assert policy(RECOVERED).attempt_limit is None


def test_the_last_wait_repeats() -> None:
    ladder = (timedelta(1), timedelta(2))
    waits = [_policy(ladder=ladder).wait_after(attempt) for attempt in (1, 2, 3, 9)]
    assert waits == [timedelta(1), timedelta(2), timedelta(2), timedelta(2)]
    assert _policy().wait_after(1) == timedelta(0)


def test_a_task_is_declared_once() -> None:
    declare(policy(ONCE))
    with pytest.raises(Misconfigured, match="declared twice"):
        declare(replace(policy(ONCE), priority=1))
    assert declared()[ONCE].priority == 100
