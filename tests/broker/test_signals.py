"""Signals reach every process that listens, and nobody waits for them."""

import json
import threading
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
from pydantic import SecretStr

from base.clock import monotonic
from base.settings import Broker as BrokerSettings
from broker import signals
from broker.address import address
from broker.postgres_signals import PostgresCarrier, SignalWakes
from broker.rabbit_signals import RabbitCarrier
from broker.signals import Abort, Carrier
from schema.engine import Database
from tests.broker.until import until
from tests.services.postgres import Clone, plain

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


@pytest.fixture
def carrier(database: Database) -> Iterator[Carrier]:
    opened = PostgresCarrier(database)
    signals.use(opened)
    yield opened
    opened.close()


@pytest.mark.usefixtures("carrier")
def test_in_one_process_they_reach_subscribers_in_order(seen: list[dict[str, Any]]) -> None:

    for number in range(3):
        signals.publish_progress({"run_id": RUN, "processed_items": number})

    until(lambda: len(seen) == 3)
    assert seen[2] == {"run_id": str(RUN), "processed_items": 2}
    assert [one["processed_items"] for one in seen] == [0, 1, 2]


@pytest.mark.usefixtures("carrier")
def test_over_the_database_they_come_back_when_its_connection_broke(clone: Clone, seen: list[dict[str, Any]]) -> None:
    until(lambda: _published() and bool(seen))
    with psycopg.connect(plain(clone.owner_url), autocommit=True) as owner:
        owner.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ILIKE '%pg_notify%' AND pid <> "
            "pg_backend_pid()"
        )
    seen.clear()

    until(lambda: _published() and bool(seen))


@pytest.mark.usefixtures("carrier")
def test_one_that_is_too_long_for_the_database_costs_only_itself(seen: list[dict[str, Any]]) -> None:
    signals.publish_progress({"run_id": "x" * 9000})
    signals.publish_progress({"run_id": RUN})

    until(lambda: bool(seen))
    assert seen[0]["run_id"] == str(RUN)


@pytest.mark.usefixtures("carrier")
def test_an_abort_names_the_job_its_fence_and_why() -> None:
    aborts: list[Abort] = []
    end = signals.on_abort(aborts.append)

    signals.publish_abort(RUN, 3, "canceled")
    signals.publish_abort(RUN, 4, "taken")

    until(lambda: len(aborts) == 2)
    assert aborts == [Abort(RUN, 3, "canceled"), Abort(RUN, 4, "taken")]
    end()


@pytest.mark.usefixtures("carrier")
def test_a_wake_up_reaches_who_has_no_broker_in_between() -> None:
    woken: list[tuple[str, dict[str, int]]] = []
    end = signals.on_wake(lambda lane, tasks: woken.append((lane, dict(tasks))))

    SignalWakes().send("a lane", {"a.task": 2})

    until(lambda: woken == [("a lane", {"a.task": 2})])
    end()


@pytest.mark.parametrize(
    "more",
    [{"fence": "x"}, {"job": "nobody"}, {"job": 7}, {"why": "whim"}, {"why": None}, {"why": []}, {"signal": "stop"}],
    ids=str,
)
def test_an_abort_that_can_not_be_read_stops_nobody(more: dict[str, Any]) -> None:
    stopped: list[UUID] = []
    end = signals.on_abort(lambda abort: stopped.append(abort.job_id))
    said = {"signal": "abort", "job": str(RUN), "fence": 7, "why": "taken"}

    signals.heard(json.dumps({**said, **more}).encode())
    assert stopped == []
    signals.heard(json.dumps(said).encode())
    assert stopped == [RUN]
    end()


def test_over_rabbitmq_they_reach_every_process(rabbit: str, seen: list[dict[str, Any]]) -> None:
    ours, theirs = (RabbitCarrier(address(SecretStr(rabbit), BrokerSettings(), "test")) for _ in range(2))
    signals.use(theirs)

    # Both carriers hear what either sends; until both listen, some are lost, which is all right
    until(lambda: _published() and len(seen) >= 2)

    assert seen[0]["run_id"] == str(RUN)
    ours.close()
    theirs.close()


@pytest.mark.usefixtures("carrier")
def test_a_subscriber_that_fails_harms_nobody(seen: list[dict[str, Any]]) -> None:
    end = signals.subscribe(lambda snapshot: snapshot["absent"])

    signals.publish_progress({"run_id": RUN})
    signals.publish_progress({"run_id": RUN})

    until(lambda: len(seen) == 2)
    end()


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
    "body",
    [
        b"",
        b"nonsense",
        b"[]",
        b"{}",
        b'{"signal": "of tomorrow"}',
        b'{"signal":"progress"}',
        b'{"signal":"abort","job":"x","fence":1,"why":"canceled"}',
    ],
)
def test_what_can_not_be_read_is_dropped(body: bytes, seen: list[dict[str, Any]]) -> None:
    signals.heard(body)

    assert seen == []


def _published() -> bool:
    signals.publish_progress({"run_id": RUN})
    return True
