"""A model that can't be asked any more: when a run gives it up, what is applied, and what it tells (D3, E23)."""

from uuid import UUID

import pytest

from schema.engine import Database
from tests.clients.asking import sent_format
from tests.enrichment.conftest import Set
from tests.enrichment.test_resuming import Interrupting
from tests.enrichment.working import Bench, definition
from tests.fakes.llm_enriching import enriching
from tests.fakes.llm_replies import Answer, empty, prose, unauthorized, web_page
from tests.fakes.llm_server import Exchange, LlmServer, Reply

ALONE = definition({"/only": ["CwpX", "QtrNc", "FacSic", "PdwIds"]})


@pytest.fixture
def bench(database: Database, account_id: UUID) -> Bench:
    return Bench.of(database, account_id)


@pytest.fixture
def twelve(bench: Bench, set_to: Set) -> Bench:
    """Twelve chunks of one endpoint with two fields each, and the overview."""
    set_to(semantic_enrichment__chunk_size_operations=1)
    return bench


def test_a_model_that_was_never_reached_is_given_up_after_one_pass(
    twelve: Bench, model: LlmServer, set_to: Set
) -> None:
    with LlmServer(enriching()) as gone:
        set_to(llm__base_url=gone.url)
    requested = twelve.ask()
    twelve.work()
    run = twelve.run(requested)
    assert (run.state, run.reason, run.processed_items, run.total_items) == ("Failed", "model_unreachable", 1, 13)
    assert run.error is not None
    assert "can't be reached" in run.error
    assert (run.warnings, run.counts) == ((), {"stopped": 36})
    assert [one.attempts for one in twelve.passes(requested)] == [3]


def test_a_web_page_instead_of_an_api_is_not_asked_through_every_pass(twelve: Bench, model: LlmServer) -> None:
    model.default = web_page(200)
    requested = twelve.ask()
    twelve.work()
    assert twelve.run(requested).reason == "model_unreachable"
    assert len(model.requests) == 3


def test_a_digest_that_reached_nobody_ends_the_run(twelve: Bench, model: LlmServer) -> None:
    model.default = web_page(200)
    requested = twelve.ask(("notes.txt", "CwpX0: Who holds the permit."))
    twelve.work()
    run = twelve.run(requested)
    assert (run.state, run.reason) == ("Failed", "model_unreachable")
    assert [one.kind for one in twelve.passes(requested)] == ["digest"]
    assert len(model.requests) == 3


def test_a_model_that_goes_away_is_given_up_after_three_passes_in_a_row(twelve: Bench, model: LlmServer) -> None:
    model.then(enriching(), enriching())
    model.default = web_page(200)
    requested = twelve.ask()
    twelve.work()
    run = twelve.run(requested)
    assert (run.state, run.reason, run.processed_items, run.failed_items) == ("Completed", "partial", 5, 3)
    assert len(model.requests) == 2 + 3 * 3
    assert (run.counts["failed"], run.counts["stopped"]) == (9, 24)
    [warning] = run.warnings
    assert warning.code == "model_unreachable"
    assert warning.text.startswith("chunk 2, chunk 3, chunk 4: ")
    assert "24 of the endpoints and fields. --only-missing" in warning.text


def test_a_model_that_comes_back_costs_only_the_passes_it_missed(twelve: Bench, model: LlmServer) -> None:
    missed = [web_page(200)] * 3
    model.then(enriching(), *missed, *missed, enriching(), *missed, *missed)
    requested = twelve.ask()
    twelve.work()
    run = twelve.run(requested)
    assert (run.state, run.reason, run.processed_items, run.failed_items) == ("Completed", "partial", 13, 4)
    assert run.counts["failed"] == 12
    assert "stopped" not in run.counts


def test_what_an_earlier_claim_was_answered_counts_as_reached(twelve: Bench, model: LlmServer) -> None:
    model.default = interrupting = Interrupting(model)
    requested = twelve.ask()
    twelve.work(during=interrupting.after(2))
    model.then(*[web_page(200)] * 3)
    model.default = enriching()
    twelve.work()
    run = twelve.run(requested)
    assert (run.state, run.reason, run.processed_items, run.failed_items) == ("Completed", "partial", 13, 1)


def test_a_refusal_of_the_first_call_is_told_once(twelve: Bench, model: LlmServer) -> None:
    model.default = unauthorized()
    requested = twelve.ask(targets=("output_field_names",))
    twelve.work()
    run = twelve.run(requested)
    assert (run.state, run.reason, run.warnings) == ("Failed", "model_refusing", ())
    assert run.counts == {"failed": 2, "stopped": 22}


def test_a_refusal_in_the_middle_says_what_was_never_asked(twelve: Bench, model: LlmServer) -> None:
    model.then(enriching(), enriching(), enriching())
    model.default = unauthorized()
    requested = twelve.ask()
    twelve.work()
    run = twelve.run(requested)
    assert (run.state, run.reason) == ("Completed", "partial")
    assert (run.counts["failed"], run.counts["stopped"]) == (3, 27)
    [warning] = run.warnings
    assert warning.code == "model_refusing"
    assert "27 of the endpoints and fields. --only-missing" in warning.text
    model.default = enriching()
    twelve.ask(only_missing=True)
    before = len(model.requests)
    twelve.work()
    assert len(model.requests) - before == 10, "the failed chunk and the nine that were not asked"


@pytest.mark.parametrize("reply", [empty(), prose(), Answer('{"fields": ' + "\n " * 2000)])
def test_an_unusable_answer_costs_as_many_calls_as_there_are_attempts(
    database: Database, account_id: UUID, model: LlmServer, reply: Reply
) -> None:
    bench = Bench.of(database, account_id, ALONE)
    model.default = reply
    requested = bench.ask(targets=("output_field_names",))
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason) == ("Failed", "all_chunks_failed")
    assert len(model.requests) == 3
    assert [one.attempts for one in bench.passes(requested)] == [3]


def test_a_model_that_is_mute_under_a_schema_is_asked_again_without_one(
    database: Database, account_id: UUID, model: LlmServer
) -> None:
    async def mute(exchange: Exchange) -> None:
        await (empty() if "response_format" in exchange.body else enriching())(exchange)

    bench = Bench.of(database, account_id, ALONE)
    model.default = mute
    requested = bench.ask(targets=("output_field_names",))
    bench.work()
    assert bench.run(requested).state == "Completed"
    assert [sent_format(one) for one in model.requests] == ["json_schema", None]
