"""The whole road, on both of its surfaces: a worker inside this process, and `dramatiq actors` over RabbitMQ."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import actors
from actors.enrichment.request import Requested
from actors.enrichment.run import LANE
from base.errors import HandOver
from base.settings import load
from broker import signals
from schema.engine import Database
from tests.broker.processes import ROOT, WorkerUnderTest
from tests.broker.until import until
from tests.enrichment.conftest import Set
from tests.enrichment.test_resuming import asked, exported, unbroken
from tests.enrichment.working import Bench
from tests.fakes.llm_enriching import enriched, enriching
from tests.fakes.llm_replies import Answer, error_in_stream, overloaded, prose, refusing, stalled, throttled
from tests.fakes.llm_server import Hold, LlmServer, by_characters
from tests.services.postgres import Clone

#: What a model does before it comes round; each costs one request at most.
MISBEHAVIOUR = (
    throttled("0"),
    overloaded("1"),
    enriching(),
    Answer(enriched, cut_after=30),
    error_in_stream({"message": "overloaded", "type": "server_error"}, after='{"end'),
    enriching(),
    stalled(),
    prose(),
)


@pytest.fixture
def bench(database: Database, account_id: Any) -> Bench:
    return Bench.of(database, account_id)


Start = Callable[[], "WorkerUnderTest"]


@pytest.fixture
def start(rabbit: str, clone: Clone, tmp_path: Path) -> Iterator[Start]:
    """Starts `dramatiq actors` for the lane, as on a server."""
    with ExitStack() as started:
        numbers = count(1)

        def start() -> WorkerUnderTest:
            worker = WorkerUnderTest(
                tmp_path / f"worker-{next(numbers)}.log",
                {"LONGHAUL_BROKER_URL": rabbit, "LONGHAUL_DATABASE_URL": clone.url},
                *("actors", "--path", str(ROOT), "--processes", "1", "--threads", "2", "-Q", LANE),
            )
            started.callback(worker.kill)
            return worker

        yield start


def ended(bench: Bench, requested: Requested) -> bool:
    return not bench.run(requested).open


def test_embedded_a_run_survives_a_model_that_misbehaves(bench: Bench, model: LlmServer, set_to: Set) -> None:
    set_to(semantic_enrichment__timeout_seconds=1)
    model.count = by_characters
    model.default = refusing("json_schema", "temperature", then=enriching())
    model.then(*MISBEHAVIOUR)
    requested = bench.ask()
    with actors.running(load(), bench.database, [LANE]):
        until(lambda: ended(bench, requested), 60)
    run = bench.run(requested)
    assert (run.state, run.reason, run.completed_items) == ("Completed", None, 5)
    assert (run.input_tokens, run.usage_estimated) == (model.input_tokens, True)


def test_snapshots_follow_each_item_and_agree_with_the_row(bench: Bench, model: LlmServer) -> None:
    model.then(enriching(), prose(), prose(), prose())
    seen: list[dict[str, Any]] = []
    stop = signals.subscribe(seen.append)
    requested = bench.ask(("notes.txt", "CwpX0: Who holds the permit."))
    with actors.running(load(), bench.database, [LANE]):
        until(lambda: ended(bench, requested), 60)
    stop()
    run = bench.run(requested)
    assert [one["processed_items"] for one in seen] == [1, 2, 3, 4, 5], "the digest publishes none"
    assert [one["failed_items"] for one in seen] == [1] * 5
    assert {(one["run_id"], one["mapping_id"], one["account_id"], one["total_items"]) for one in seen} == {
        (str(run.id), str(run.mapping_id), str(bench.account_id), 5)
    }
    totals = [one["total_tokens"] for one in seen]
    assert totals == sorted(totals)
    last = seen[-1]
    assert (last["input_tokens"], last["output_tokens"], last["total_tokens"]) == (
        run.input_tokens,
        run.output_tokens,
        run.total_tokens,
    )
    assert seen[0]["current"].startswith("chunk 1: GET /p0")


def test_embedded_a_handover_leaves_the_run_open_and_the_next_worker_resumes_it(
    bench: Bench, model: LlmServer, tmp_path: Path
) -> None:
    hold = Hold()
    model.then(enriching(), enriching(), enriching(hold=hold))
    requested = bench.ask()
    with actors.running(load(), bench.database, [LANE]) as worker:
        model.wait_for(lambda: len(model.requests) == 3)
        worker.ask_handover()
        until(lambda: all(held.draining.is_set() for held in worker._process.held.all()))
        hold.open()
        assert worker.idle(30)
    run = bench.run(requested)
    assert (run.state, run.resuming, run.processed_items) == ("Processing", True, 3)
    seen: list[int] = []
    stop = signals.subscribe(lambda snapshot: seen.append(snapshot["processed_items"]))
    with actors.running(load(), bench.database, [LANE]):
        until(lambda: ended(bench, requested), 60)
    stop()
    assert seen == [3, 4, 5], "the bar does not go back"
    assert len({asked(one) for one in model.requests}) == len(model.requests) == 5
    assert exported(bench, requested, tmp_path / "a") == unbroken(bench, tmp_path / "b")


def test_embedded_what_a_cut_pass_cost_is_in_the_run_before_it_is_handed_over(bench: Bench, model: LlmServer) -> None:
    model.count = by_characters
    model.then(enriching(), Answer(enriched, stall_after=100))
    requested = bench.ask()
    with actors.running(load(), bench.database, [LANE]) as worker:
        model.wait_for(lambda: len(model.requests) == 2)
        for held in worker._process.held.all():
            held.stop(HandOver("The process ends."))
        until(lambda: ended(bench, requested), 60)
    run, passes = bench.run(requested), bench.passes(requested)
    assert (run.state, run.usage_estimated) == ("Completed", True)
    assert [(one.chunk_id, one.status) for one in passes][:3] == [
        ("overview", "completed"),
        ("c1", "failed"),
        ("c1", "completed"),
    ]
    assert run.input_tokens == model.input_tokens == sum(one.input_tokens for one in passes)
    assert run.output_tokens == sum(one.output_tokens for one in passes)


def test_on_servers_a_run_survives_a_model_that_misbehaves(
    bench: Bench, model: LlmServer, set_to: Set, start: Start
) -> None:
    set_to(semantic_enrichment__timeout_seconds=1)
    model.count = by_characters
    model.default = refusing("json_schema", "temperature", then=enriching())
    model.then(*MISBEHAVIOUR)
    start().ready()
    requested = bench.ask()
    until(lambda: ended(bench, requested), 60)
    run = bench.run(requested)
    assert (run.state, run.reason, run.completed_items) == ("Completed", None, 5)
    assert run.input_tokens == model.input_tokens


def test_on_servers_a_killed_worker_costs_the_pass_in_flight_and_nothing_else(
    bench: Bench, model: LlmServer, start: Start, tmp_path: Path
) -> None:
    hold = Hold()
    model.then(enriching(), enriching(), enriching(hold=hold))
    first = start().ready()
    requested = bench.ask()
    model.wait_for(lambda: len(model.requests) == 3, 30)
    first.kill()
    hold.open()
    start().ready()
    until(lambda: ended(bench, requested), 60)
    run = bench.run(requested)
    assert (run.state, run.completed_items) == ("Completed", 5)
    questions = [asked(one) for one in model.requests]
    assert len(questions) == 6
    assert [questions.count(one) for one in dict.fromkeys(questions)] == [1, 1, 2, 1, 1]
    assert exported(bench, requested, tmp_path / "a") == unbroken(bench, tmp_path / "b")


def test_on_servers_a_stopped_worker_hands_its_run_to_the_next(
    bench: Bench, model: LlmServer, start: Start, tmp_path: Path
) -> None:
    hold = Hold()
    model.then(enriching(), enriching(), enriching(hold=hold))
    first = start().ready()
    requested = bench.ask()
    model.wait_for(lambda: len(model.requests) == 3, 30)
    first.terminate()
    until(lambda: "draining" in first.said)
    hold.open()
    assert first.wait() == 0
    start().ready()
    until(lambda: ended(bench, requested), 60)
    assert bench.run(requested).state == "Completed"
    assert len({asked(one) for one in model.requests}) == len(model.requests) == 5
    assert exported(bench, requested, tmp_path / "a") == unbroken(bench, tmp_path / "b")
