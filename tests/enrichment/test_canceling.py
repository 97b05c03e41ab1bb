"""A cancel reaches a run wherever it is worked on, and stops the call in flight (E36, E37)."""

from uuid import UUID

import pytest

import actors
from actors.enrichment.run import LANE
from base.settings import load
from broker import canceling
from broker.announcing import from_outside
from schema.engine import Database
from tests.broker.until import until
from tests.enrichment.conftest import Set
from tests.enrichment.test_end_to_end import Start, start
from tests.enrichment.working import Bench
from tests.fakes.llm_enriching import enriched
from tests.fakes.llm_replies import Answer
from tests.fakes.llm_server import LlmServer

__all__ = ["start"]

#: Long enough that only a signal can have stopped a run within it: the beat comes every thirty seconds.
_AT_ONCE = 5.0


@pytest.fixture
def bench(database: Database, account_id: UUID) -> Bench:
    return Bench.of(database, account_id)


@pytest.fixture
def stalls(model: LlmServer) -> LlmServer:
    model.default = Answer(enriched, stall_after=10)
    return model


def test_embedded_the_call_in_flight_is_closed_at_once(bench: Bench, stalls: LlmServer) -> None:
    requested = bench.ask()
    with actors.running(load(), bench.database, [LANE]) as worker:
        stalls.wait_for(lambda: len(stalls.requests) == 1)
        _cancel_from_another_process(bench, requested.job_id)
        _is_closed(stalls)
        assert worker.idle(_AT_ONCE)
    _nothing_was_applied(bench, requested.run_id)


def test_on_servers_the_call_in_flight_is_closed_at_once(
    bench: Bench, stalls: LlmServer, start: Start, rabbit: str, set_to: Set
) -> None:
    worker = start().ready()
    requested = bench.ask()
    stalls.wait_for(lambda: len(stalls.requests) == 1, 30)
    set_to(broker_url=rabbit)
    _cancel_from_another_process(bench, requested.job_id)
    _is_closed(stalls)
    until(lambda: "canceled" in worker.said)
    _nothing_was_applied(bench, requested.run_id)


def test_a_run_that_waits_is_canceled_and_never_begun(bench: Bench, stalls: LlmServer) -> None:
    requested = bench.ask()
    assert canceling.cancel(bench.database, bench.account_id, requested.job_id, by="a test") == "accepted"
    assert bench.claim() is None
    assert canceling.cancel(bench.database, bench.account_id, requested.job_id, by="a test") == "already_ended"
    _nothing_was_applied(bench, requested.run_id)
    assert stalls.requests == []


def _cancel_from_another_process(bench: Bench, job_id: UUID) -> None:
    """As a command does it; the carrier that this process has for its own worker stays."""
    with from_outside(load(), bench.database):
        assert canceling.cancel(bench.database, bench.account_id, job_id, by="a test") == "accepted"


def _is_closed(model: LlmServer) -> None:
    model.wait_for(lambda: model.requests[0].closed_at is not None, _AT_ONCE)
    assert len(model.requests) == 1


def _nothing_was_applied(bench: Bench, run_id: UUID) -> None:
    (state,) = bench.sql("SELECT state, reason FROM enrichment_runs WHERE id = :id", id=run_id)
    assert tuple(state) == ("Canceled", "canceled_by_operator")
    mapping = bench.mapping()
    assert (mapping.status, mapping.enriching_run_id, mapping.current_version) == ("Draft", None, 1)
