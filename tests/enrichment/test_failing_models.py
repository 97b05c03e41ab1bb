"""What a model can do wrong, and what a run makes of it: E22, E23, D2, D3, D7."""

import asyncio
import json
from uuid import UUID

import pytest

from schema.engine import Database
from tests.enrichment.conftest import Set
from tests.enrichment.working import Bench, definition
from tests.fakes.llm_enriching import enriched, enriching
from tests.fakes.llm_replies import (
    Answer,
    error_in_stream,
    fenced,
    filtered,
    out_of_quota,
    prose,
    refusing,
    too_long,
    unauthorized,
)
from tests.fakes.llm_server import Exchange, LlmServer, Received, by_characters

ALONE = definition({"/only": ["CwpX", "QtrNc", "FacSic", "PdwIds"]})


@pytest.fixture
def bench(database: Database, account_id: UUID) -> Bench:
    return Bench.of(database, account_id)


def test_a_chunk_that_fails_for_good_costs_only_itself(bench: Bench, model: LlmServer) -> None:
    model.then(enriching(), prose(), prose(), Answer('{"answer": 42}'))
    requested = bench.ask()
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason) == ("Completed", "partial")
    assert (run.total_items, run.processed_items, run.failed_items, run.completed_items) == (5, 5, 1, 4)
    assert run.counts["endpoint_names"] == 9
    [warning] = run.warnings
    assert warning.code == "item_failed"
    assert warning.text.startswith("chunk 1: GET /p0, GET /p1, GET /p2: The model's answer can't be used")
    assert bench.content().endpoints[0].name is None
    assert [one.status for one in bench.passes(requested)] == ["completed", "failed", *["completed"] * 3]
    assert run.input_tokens == model.input_tokens


def test_when_all_chunks_fail_the_mapping_is_as_it_was(bench: Bench, model: LlmServer, set_to: Set) -> None:
    set_to(semantic_enrichment__max_chunk_retries=0)
    before = bench.content()
    model.then(enriching())
    model.default = filtered()
    requested = bench.ask(targets=("mapping_name", "endpoint_names"))
    bench.work()
    run, mapping = bench.run(requested), bench.mapping()
    assert (run.state, run.reason, run.failed_items) == ("Failed", "all_chunks_failed", 4)
    assert run.counts == {"failed": 12}
    assert run.error is not None
    assert "content filter" in run.error
    assert (mapping.status, mapping.current_version) == ("Draft", 1)
    assert bench.content() == before


def test_a_mapping_that_was_ready_is_ready_again_after_a_failure(bench: Bench, model: LlmServer) -> None:
    bench.sql("UPDATE mappings SET status = 'Ready'")
    model.default = unauthorized()
    requested = bench.ask()
    bench.work()
    assert bench.run(requested).reason == "model_refusing"
    assert bench.mapping().status == "Ready"


def test_a_model_that_refuses_everybody_is_asked_once(bench: Bench, model: LlmServer, set_to: Set) -> None:
    set_to(semantic_enrichment__max_concurrent_chunks=4)
    model.default = unauthorized()
    requested = bench.ask()
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason) == ("Failed", "model_refusing")
    assert len(model.requests) == 1
    assert [one.status for one in bench.passes(requested)] == ["failed"]


def test_a_worker_that_can_not_ask_the_model_says_so(bench: Bench, model: LlmServer, set_to: Set) -> None:
    requested = bench.ask(model="another")
    set_to(llm__base_url="", llm__model="")
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason) == ("Failed", "model_misconfigured")
    assert run.error is not None
    assert "LONGHAUL_LLM__BASE_URL" in run.error
    assert bench.mapping().status == "Draft"


def test_what_was_answered_before_the_quota_ran_out_is_kept(bench: Bench, model: LlmServer) -> None:
    model.then(enriching(), enriching(), out_of_quota())
    requested = bench.ask()
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason) == ("Completed", "partial")
    assert (run.total_items, run.processed_items, run.failed_items, run.completed_items) == (5, 3, 1, 2)
    [refusing] = run.warnings
    assert refusing.code == "model_refusing"
    assert refusing.text.startswith("chunk 2: ")
    assert len(model.requests) == 3


def test_an_overview_does_not_make_a_run_whose_chunks_were_all_refused(bench: Bench, model: LlmServer) -> None:
    model.then(enriching(), out_of_quota())
    requested = bench.ask()
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason) == ("Failed", "model_refusing")
    assert run.counts == {"failed": 9, "stopped": 27}
    assert (run.processed_items, run.failed_items, run.completed_items) == (2, 1, 1)
    assert bench.mapping().current_version == 1


def test_what_was_in_flight_when_the_model_refused_is_paid_for_and_logged(
    bench: Bench, model: LlmServer, set_to: Set
) -> None:
    set_to(semantic_enrichment__max_concurrent_chunks=2)
    model.count = by_characters
    stalling = Answer(enriched, stall_after=100)

    async def refusing_once_the_other_is_on_its_way(exchange: Exchange) -> None:
        while len(model.requests) < 3 or not model.requests[-1].in_flight:  # noqa: ASYNC110  another server thread's list
            await asyncio.sleep(0.01)
        await out_of_quota()(exchange)

    model.then(enriching(), refusing_once_the_other_is_on_its_way, stalling)
    requested = bench.ask(targets=("output_field_names",))
    bench.work()
    run, passes = bench.run(requested), bench.passes(requested)
    assert (run.state, run.reason, run.processed_items, run.failed_items) == ("Completed", "partial", 2, 1)
    cut = next(one for one in passes if one.error == "It was stopped before it ended.")
    assert (cut.status, cut.usage_source) == ("failed", "estimated")
    assert cut.input_tokens > 0
    assert sum(one.input_tokens for one in passes) == run.input_tokens
    assert sum(one.output_tokens for one in passes) == run.output_tokens


def test_a_cut_answer_is_asked_in_halves_and_stays_one_item(
    database: Database, account_id: UUID, model: LlmServer
) -> None:
    bench = Bench.of(database, account_id, ALONE)
    model.then(Answer(enriched, finish="length"), enriching(), too_long())
    requested = bench.ask(targets=("output_field_names",))
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason, run.total_items, run.completed_items) == ("Completed", None, 1, 1)
    assert run.counts == {"output_field_names": 4}
    assert [(one.chunk_id, one.status) for one in bench.passes(requested)] == [
        ("c1", "split"),
        ("c1.1", "completed"),
        ("c1.2", "split"),
        ("c1.2.1", "completed"),
        ("c1.2.2", "completed"),
    ]
    assert len(model.requests) == 5
    assert run.output_tokens == model.output_tokens


def test_an_answer_that_can_not_fit_is_not_asked_for(
    database: Database, account_id: UUID, model: LlmServer, set_to: Set
) -> None:
    set_to(llm__max_completion_tokens=90)
    bench = Bench.of(database, account_id, ALONE)
    requested = bench.ask(targets=("output_field_names",))
    bench.work()
    assert [(one.chunk_id, one.status) for one in bench.passes(requested)] == [
        ("c1.1", "completed"),
        ("c1.2", "completed"),
    ]
    assert bench.run(requested).counts == {"output_field_names": 4}


def test_a_model_that_says_nothing_at_all_is_not_asked_down_to_the_last_field(
    database: Database, account_id: UUID, model: LlmServer
) -> None:
    bench = Bench.of(database, account_id, ALONE)
    model.default = Answer("", finish="length")
    requested = bench.ask(targets=("output_field_names",))
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason) == ("Failed", "all_chunks_failed")
    assert run.error is not None
    assert "LONGHAUL_LLM__MAX_COMPLETION_TOKENS" in run.error
    assert len(model.requests) == 3


def test_what_was_left_out_is_asked_once_more(database: Database, account_id: UUID, model: LlmServer) -> None:
    def forgetful(received: Received) -> str:
        said = json.loads(enriched(received))
        return json.dumps({**said, "fields": said["fields"][:1]})

    bench = Bench.of(database, account_id, ALONE)
    model.then(Answer(forgetful), Answer(forgetful))
    requested = bench.ask(targets=("output_field_names",))
    bench.work()
    run = bench.run(requested)
    assert run.counts == {"output_field_names": 2, "unanswered": 2}
    assert [one.code for one in run.warnings] == ["unanswered"]
    assert [(one.chunk_id, one.suggestions) for one in bench.passes(requested)] == [
        ("c1", {"output_field_names": 1}),
        ("c1+", {"output_field_names": 1}),
    ]


def test_answers_about_something_else_leave_everything_as_it_was(
    database: Database, account_id: UUID, model: LlmServer
) -> None:
    bench = Bench.of(database, account_id, ALONE)
    model.default = Answer(json.dumps({"fields": [{"id": "f99", "name": "Nobody Asked"}], "endpoints": []}))
    requested = bench.ask(targets=("output_field_names",))
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason) == ("Failed", "nothing_to_apply")
    assert {one.code for one in run.warnings} == {"unanswered", "answers_dropped"}
    assert len(model.requests) == 3, "the whole, then its halves once"
    assert bench.mapping().current_version == 1


@pytest.mark.parametrize(
    "reply",
    [
        lambda: refusing("json_schema", "temperature", then=enriching()),
        lambda: Answer(lambda received: f"```json\n{enriched(received)}\n```"),
        lambda: enriching(usage=False),
    ],
    ids=["refuses parameters", "fences", "no usage"],
)
def test_peculiar_models_are_lived_with(bench: Bench, model: LlmServer, reply: object) -> None:
    model.default = reply()  # type: ignore[operator]
    requested = bench.ask()
    bench.work()
    assert bench.run(requested).state == "Completed"
    assert bench.run(requested).counts["output_field_names"] == 24


def test_an_error_inside_a_200_is_asked_again(bench: Bench, model: LlmServer) -> None:
    model.count = by_characters
    model.then(error_in_stream({"message": "overloaded", "type": "server_error"}, after='{"name'))
    requested = bench.ask()
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason) == ("Completed", None)
    assert run.input_tokens == model.input_tokens


def test_fenced_is_no_failure(bench: Bench, model: LlmServer) -> None:
    model.then(fenced({"name": "Water Works", "description": None}))
    requested = bench.ask(targets=("mapping_name",))
    bench.work()
    assert bench.run(requested).counts == {"mapping_name": 1}
