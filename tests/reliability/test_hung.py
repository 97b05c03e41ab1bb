"""A run that hangs is taken from a worker that lives, and completed; a slow one that gets on never is (I9)."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from actors.enrichment.run import TASK
from actors.upkeep.reap import Reaper
from base.settings import load
from broker.announcing import from_outside
from ledger import policy
from schema.engine import Database
from tests.broker.until import until
from tests.enrichment.conftest import Set
from tests.enrichment.test_resuming import asked
from tests.enrichment.working import Bench
from tests.fakes.llm_enriching import enriched, enriching
from tests.fakes.llm_replies import Answer
from tests.fakes.llm_server import LlmServer
from tests.reliability.fleet import Fleet

#: Declared by the observer alone: the settings would refuse a threshold below the slowest pass.
_STALL = timedelta(seconds=2)


@pytest.fixture
def bench(database: Database, account_id: UUID, rabbit: str, set_to: Set) -> Bench:
    set_to(broker_url=rabbit, enrichment_run_recovery__heartbeat_interval=0.5)
    return Bench.of(database, account_id)


@pytest.fixture
def sweep(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reaper]:
    """A reaper that is never too early, of a process that calls a run hung after two seconds."""
    monkeypatch.setitem(policy._declared, TASK, replace(policy.policy(TASK), stall_after=_STALL))
    recovery = load().enrichment_run_recovery.model_copy(update={"reaper_interval": timedelta(0)})
    with from_outside(load(), bench.database):
        yield Reaper(recovery)


def test_a_hung_call_is_closed_and_its_run_completed_by_another_claim(
    bench: Bench, sweep: Reaper, model: LlmServer, fleet: Fleet
) -> None:
    model.then(enriching(), Answer(enriched, stall_after=10))
    fleet.start().ready()
    fleet.start().ready()
    requested = bench.ask()
    model.wait_for(lambda: len(model.requests) == 2, 30)
    hung = model.requests[1]

    _sweep_until(lambda: hung.closed_at is not None, sweep, bench)
    until(lambda: not bench.run(requested).open, 30)

    run = bench.run(requested)
    assert (run.state, run.reason, run.completed_items) == ("Completed", None, 5)
    questions = [asked(one) for one in model.requests]
    assert len(questions) == 6, "only the hung pass was asked again"
    assert questions.count(asked(hung)) == 2
    (job,) = fleet.look("SELECT recoveries, fence FROM jobs WHERE id = %s", requested.job_id)
    assert (job["recoveries"], job["fence"]) == (1, 3)
    (attempt,) = fleet.look("SELECT outcome FROM job_attempts WHERE job_id = %s", requested.job_id)
    assert attempt["outcome"] == "reaped"


def test_a_slow_run_whose_passes_end_in_time_is_never_taken(
    bench: Bench, sweep: Reaper, model: LlmServer, fleet: Fleet
) -> None:
    model.default = enriching(piece=40, pace=0.1)
    fleet.start().ready()
    requested = bench.ask()
    _sweep_until(lambda: not bench.run(requested).open, sweep, bench)
    passes = bench.passes(requested)
    assert max(one.finished_at - one.started_at for one in passes if one.started_at) > _STALL / 3, "or it was not slow"
    assert bench.run(requested).state == "Completed"
    (job,) = fleet.look("SELECT recoveries, fence FROM jobs WHERE id = %s", requested.job_id)
    assert (job["recoveries"], job["fence"]) == (0, 1)


def _sweep_until(condition: Callable[[], bool], sweep: Reaper, bench: Bench) -> None:
    """Let the tick come again and again until it holds."""

    def look() -> bool:
        sweep(bench.database)
        return condition()

    until(look, 60)
