"""Signals reach every process that listens, and nobody waits for them."""

import threading
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from pydantic import SecretStr

from base.clock import monotonic
from base.settings import Broker as BrokerSettings
from broker import signals
from broker.address import address
from broker.rabbit_signals import RabbitCarrier
from broker.signals import LocalCarrier
from tests.broker.until import until

RUN = UUID(int=7)


@pytest.fixture
def seen() -> Iterator[list[dict[str, Any]]]:
    found: list[dict[str, Any]] = []
    end = signals.subscribe(found.append)
    yield found
    end()
    signals.use(None)


def test_without_a_carrier_they_are_dropped(seen: list[dict[str, Any]]) -> None:
    signals.publish_progress({"run_id": RUN})

    assert seen == []


def test_in_one_process_they_reach_subscribers_in_order(seen: list[dict[str, Any]]) -> None:
    carrier = LocalCarrier()
    signals.use(carrier)

    for number in range(3):
        signals.publish_progress({"run_id": RUN, "processed_items": number})

    until(lambda: len(seen) == 3)
    assert seen[2] == {"run_id": str(RUN), "processed_items": 2}
    assert [one["processed_items"] for one in seen] == [0, 1, 2]
    carrier.close()


def test_over_rabbitmq_they_reach_every_process(rabbit: str, seen: list[dict[str, Any]]) -> None:
    ours, theirs = (RabbitCarrier(address(SecretStr(rabbit), BrokerSettings(), "test")) for _ in range(2))
    signals.use(theirs)

    # Both carriers hear what either sends; until both listen, some are lost, which is all right
    until(lambda: _published() and len(seen) >= 2)

    assert seen[0]["run_id"] == str(RUN)
    ours.close()
    theirs.close()


def test_a_subscriber_that_fails_harms_nobody(seen: list[dict[str, Any]]) -> None:
    carrier = LocalCarrier()
    signals.use(carrier)
    end = signals.subscribe(lambda snapshot: snapshot["absent"])

    signals.publish_progress({"run_id": RUN})
    signals.publish_progress({"run_id": RUN})

    until(lambda: len(seen) == 2)
    end()
    carrier.close()


def test_a_broker_that_is_away_does_not_hold_a_run_up(seen: list[dict[str, Any]]) -> None:
    carrier = RabbitCarrier(address(SecretStr("amqp://guest:guest@127.0.0.1:1/x"), BrokerSettings(), "test"))
    signals.use(carrier)

    began = monotonic()
    for _ in range(5000):
        signals.publish_progress({"run_id": RUN})

    assert monotonic() - began < 2
    carrier.close()
    assert not any(thread.name == "signals" and thread.is_alive() for thread in threading.enumerate())


@pytest.mark.parametrize(
    "body", [b"", b"nonsense", b"[]", b"{}", b'{"signal": "of tomorrow"}', b'{"signal":"progress"}']
)
def test_what_can_not_be_read_is_dropped(body: bytes, seen: list[dict[str, Any]]) -> None:
    signals.heard(body)

    assert seen == []


def _published() -> bool:
    signals.publish_progress({"run_id": RUN})
    return True
