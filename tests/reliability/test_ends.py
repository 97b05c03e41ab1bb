"""Workers that are asked to end, and one that a run kills: the others' runs come to their end all the same."""

import pytest

from actors.enrichment.request import Requested
from base.clock import monotonic
from base.settings import load
from broker.announcing import from_outside
from schema.accounts import account
from schema.engine import Database
from tests.broker.until import until
from tests.enrichment.conftest import Set
from tests.enrichment.test_resuming import asked
from tests.enrichment.working import Bench, definition
from tests.fakes.llm_enriching import enriching
from tests.fakes.llm_server import Exchange, Hold, LlmServer
from tests.reliability.fleet import Fleet

_LONG = {f"/p{number}": [f"CwpX{number}"] for number in range(12)}


@pytest.fixture(autouse=True)
def _quick(rabbit: str, set_to: Set) -> None:
    set_to(broker_url=rabbit, enrichment_run_recovery__heartbeat_interval=0.5)


def test_four_long_runs_of_a_worker_that_ends_go_on_at_an_idle_one(
    database: Database, model: LlmServer, fleet: Fleet
) -> None:
    model.default = enriching(piece=20, pace=0.05)
    ending = fleet.start(threads=4).ready()
    with from_outside(load(), database):
        runs = [_ask(database, f"account {number}") for number in range(4)]
        until(lambda: {fleet.holder(requested.job_id) for _, requested in runs} == {ending}, 30)
        idle = fleet.start(threads=8).ready()
        until(lambda: all(bench.run(requested).processed_items >= 2 for bench, requested in runs), 60)

        ending.terminate()
        until(lambda: "draining" in ending.said)
        before, asked_at = len(model.requests), monotonic()
        fifth, later = _ask(database, "account 5")
        until(lambda: fleet.holder(later.job_id) is idle)
        took = monotonic() - asked_at
        runs.append((fifth, later))
        until(lambda: not any(bench.run(requested).open for bench, requested in runs), 120)

    assert ending.wait() == 0
    assert took < 1, "a message published later waits for nobody"
    assert {bench.run(requested).state for bench, requested in runs} == {"Completed"}
    assert len(model.requests) > before
    assert len(model.requests) == 5 * 5, "no pass was cut, so none was asked twice"
    assert all(row["recoveries"] == 0 for row in fleet.look("SELECT recoveries FROM jobs"))


@pytest.mark.timeout(300)
def test_a_run_that_kills_its_worker_is_given_up_and_its_neighbours_complete(
    database: Database, model: LlmServer, fleet: Fleet
) -> None:
    answer = enriching(piece=20, pace=0.05)

    async def poisonous(exchange: Exchange) -> None:
        if "Poison" in exchange.received.user:
            fleet.doom()
            await Hold().passed()
        await answer(exchange)

    model.default = poisonous
    first = fleet.start(threads=8).ready()
    with from_outside(load(), database):
        neighbours = [_ask(database, f"neighbour {number}") for number in range(7)]
        until(lambda: all(fleet.holder(requested.job_id) is first for _, requested in neighbours), 30)
        poison, deadly = _ask(database, "poison", title="Poison")
        everybody = [*neighbours, (poison, deadly)]
        while any(bench.run(requested).open for bench, requested in everybody):
            fleet.bury_the_doomed(deadly.job_id)
            if not fleet.has_life():
                fleet.start(threads=8).ready()

    run = poison.run(deadly)
    assert (run.state, run.reason) == ("Failed", "recovery_exhausted")
    assert "0 of 5 items" in (run.error or "")
    assert sum("Poison" in asked(one) or "Poison" in one.user for one in model.requests) == 4, "four claims, no fifth"
    assert {bench.run(requested).state for bench, requested in neighbours} == {"Completed"}


def _ask(database: Database, name: str, title: str = "Waterworks") -> tuple[Bench, Requested]:
    bench = Bench.of(database, account(database, name), definition(_LONG, title=title))
    return bench, bench.ask()
