"""A cancel closes the call to the model at once, in whichever process it is (E37)."""

from uuid import UUID

import pytest

from base.clock import monotonic
from base.settings import load
from broker import canceling
from broker.announcing import from_outside
from schema.engine import Database
from tests.enrichment.conftest import Set
from tests.enrichment.working import Bench
from tests.fakes.llm_enriching import enriched
from tests.fakes.llm_replies import Answer
from tests.fakes.llm_server import LlmServer
from tests.reliability.figures import Figures, percentile
from tests.reliability.fleet import Fleet


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("times", [10, pytest.param(100, marks=pytest.mark.long)])
def test_a_cancel_closes_the_call_in_another_process(
    times: int, bench: Bench, fleet: Fleet, model: LlmServer, figures: Figures
) -> None:
    model.default = Answer(enriched, stall_after=10)
    fleet.start().ready()
    with from_outside(load(), bench.database):
        waits = [_seconds_to_close(bench, model) for _ in range(times)]
    figures.row(
        "run canceled while its call is in flight in another process",
        cancels=times,
        call_closed_p50=f"{percentile(waits, 50) * 1000:.0f} ms",
        call_closed_p95=f"{percentile(waits, 95) * 1000:.0f} ms",
    )
    assert percentile(waits, 95) < 0.5


def _seconds_to_close(bench: Bench, model: LlmServer) -> float:
    """Ask for a run, cancel it in its first call, and wait for that call's end at the model."""
    before = len(model.requests)
    requested = bench.ask()
    model.wait_for(lambda: len(model.requests) > before, 30)
    call = model.requests[before]
    asked_at = monotonic()
    assert canceling.cancel(bench.database, bench.account_id, requested.job_id, by="a test") == "accepted"
    model.wait_for(lambda: call.closed_at is not None, 30)
    run, mapping = bench.run(requested), bench.mapping()
    assert (run.state, mapping.status, mapping.current_version) == ("Canceled", "Draft", 1)
    assert len(model.requests) == before + 1
    assert call.closed_at is not None
    return call.closed_at - asked_at


@pytest.fixture
def bench(database: Database, account_id: UUID, rabbit: str, set_to: Set) -> Bench:
    set_to(broker_url=rabbit)
    return Bench.of(database, account_id)
