"""A run many times as long as the broker's ack timeout: it hands over in time, and survives where it does not."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from actors.enrichment.request import Requested
from actors.enrichment.run import LANE
from schema.engine import Database
from tests.broker.processes import ROOT, WorkerUnderTest
from tests.broker.until import until
from tests.enrichment.conftest import Set
from tests.enrichment.test_resuming import asked
from tests.enrichment.working import Bench, definition
from tests.fakes.llm_enriching import enriching
from tests.fakes.llm_server import Exchange, LlmServer
from tests.services.postgres import Clone
from tests.services.rabbit import Node
from tests.services.rabbit_kinds import FOUR_QUORUM, OWN_CLASSIC, Kind, on

pytestmark = on([OWN_CLASSIC, FOUR_QUORUM])

#: 54 passes of 0.3 s, 16 s in all, where a message may stay for 3 s.
PASSES = 54
PASS_SECONDS = 0.3

TAKEN_BACK = "took this worker's messages back"

StartWorker = Callable[[str], WorkerUnderTest]


async def slowly(exchange: Exchange) -> None:
    await asyncio.sleep(PASS_SECONDS)
    await enriching()(exchange)


@pytest.fixture
def node(rabbit_node: Callable[..., Node]) -> Node:
    return rabbit_node("consumer_timeout = 3000", advanced="{rabbit, [{channel_tick_interval, 1000}]}")


@pytest.fixture
def bench(database: Database, account_id: Any, model: LlmServer, set_to: Set, rabbit_kind: Kind) -> Bench:
    model.default = slowly
    set_to(
        semantic_enrichment__chunk_size_operations=1,
        semantic_enrichment__max_chunk_retries=0,
        semantic_enrichment__timeout_seconds=0.95,
        broker__ack_timeout=3,
        broker__ack_margin=0.95,
        broker__ack_tick=1,
        broker__queue_type=rabbit_kind.queue_type,
    )
    return Bench.of(database, account_id, definition({f"/p{number}": [f"CwpX{number}"] for number in range(PASSES)}))


@pytest.fixture
def start(node: Node, clone: Clone, tmp_path: Path) -> Iterator[StartWorker]:
    """Starts `dramatiq MODULE` for the lane."""
    with ExitStack() as started:

        def start(module: str) -> WorkerUnderTest:
            worker = WorkerUnderTest(
                tmp_path / "worker.log",
                {"LONGHAUL_BROKER_URL": node.url, "LONGHAUL_DATABASE_URL": clone.url},
                *(module, "--path", str(ROOT), "--processes", "1", "--threads", "2", "-Q", LANE),
            )
            started.callback(worker.kill)
            return worker.ready()

        yield start


def test_it_hands_over_in_time_and_no_channel_is_closed(
    bench: Bench, model: LlmServer, start: StartWorker, node: Node
) -> None:
    worker = start("actors")
    fence, recoveries = _run_to_the_end(bench, model)
    assert fence >= 6, "it was claimed, handed over and claimed again, about every two seconds"
    assert recoveries == 0
    assert TAKEN_BACK not in worker.said
    assert "has timed out waiting" not in _log_of(node)


def test_where_it_does_not_its_message_comes_again_and_finds_nothing_to_do(
    bench: Bench, model: LlmServer, start: StartWorker, node: Node
) -> None:
    worker = start("tests.enrichment.without_handover_under_test")
    fence, recoveries = _run_to_the_end(bench, model)
    assert (fence, recoveries) == (1, 0)
    assert TAKEN_BACK in worker.said
    assert "has timed out waiting" in _log_of(node)


def _run_to_the_end(bench: Bench, model: LlmServer) -> tuple[int, int]:
    """Ask for the run, and hold that it ended once and asked each question once; its job's fence and recoveries."""
    requested: Requested = bench.ask(targets=("output_field_names",))
    until(lambda: not bench.run(requested).open, 90)
    run = bench.run(requested)
    assert (run.state, run.reason, run.completed_items) == ("Completed", None, PASSES)
    assert len({asked(one) for one in model.requests}) == len(model.requests) == PASSES
    assert [one.status for one in bench.passes(requested)] == ["completed"] * PASSES
    ((state, fence, recoveries),) = bench.sql("SELECT state, fence, recoveries FROM jobs")
    assert state == "done"
    return fence, recoveries


def _log_of(node: Node) -> str:
    return "".join(file.read_text(errors="replace") for file in (node.folder / "log").glob("*.log"))
