"""Whole runs on a real database against a scripted model: what is applied, counted, logged and left alone."""

from uuid import UUID

import pytest

from schema.engine import Database
from tests.enrichment.conftest import Set
from tests.enrichment.working import Bench
from tests.fakes.llm_enriching import asked as facts_of
from tests.fakes.llm_enriching import enriched, enriching
from tests.fakes.llm_replies import (
    Answer,
    prose,
    throttled,
)
from tests.fakes.llm_server import LlmServer, by_characters


@pytest.fixture
def bench(database: Database, account_id: UUID) -> Bench:
    return Bench.of(database, account_id)


def test_a_run_writes_a_draft_that_knows_where_each_text_is_from(bench: Bench, model: LlmServer) -> None:
    requested = bench.ask()
    assert bench.run(requested).state == "Requested"
    assert bench.mapping().status == "Enriching"
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason, run.error) == ("Completed", None, None)
    assert (run.total_items, run.processed_items, run.failed_items, run.completed_items) == (5, 5, 0, 5)
    assert run.counts == {
        "mapping_name": 1,
        "mapping_description": 1,
        "endpoint_names": 12,
        "output_field_names": 24,
        "output_field_descriptions": 24,
    }
    assert (run.provider, run.model) == (model.url.split("/")[2], "scripted")
    mapping, content = bench.mapping(), bench.content()
    assert (mapping.status, mapping.enriching_run_id, mapping.current_version) == ("Draft", None, 2)
    assert content.name is not None
    assert (content.name.value, content.name.old, content.name.origin) == ("Scripted Waterworks", "Waterworks", "model")
    name = content.endpoints[3].outputs[0].name
    assert name is not None
    assert name.value == "Scripted Cwp X 3"
    assert (name.run_id, name.model, name.old) == (requested.run_id, "scripted", None)
    assert name.pass_key is not None
    assert name.pass_key.startswith("chunk:")


def test_tokens_are_the_servers_and_every_pass_is_in_the_log(bench: Bench, model: LlmServer) -> None:
    model.count = by_characters  # what was cut is estimated, and so are we
    model.then(throttled("0"), Answer(enriched, cut_after=10), enriching(), prose())
    requested = bench.ask()
    bench.work()
    run, passes = bench.run(requested), bench.passes(requested)
    assert (run.input_tokens, run.total_tokens) == (model.input_tokens, run.input_tokens + run.output_tokens)
    assert sum(one.input_tokens for one in passes) == run.input_tokens
    assert sum(one.output_tokens for one in passes) == run.output_tokens
    assert [(one.kind, one.chunk_id, one.retries) for one in passes] == [
        ("overview", "overview", 2),
        ("chunk", "c1", 1),
        ("chunk", "c2", 0),
        ("chunk", "c3", 0),
        ("chunk", "c4", 0),
    ]
    assert {one.status for one in passes} == {"completed"}
    [row] = bench.sql("SELECT prompt, raw_output, answer FROM enrichment_passes WHERE chunk_id = 'c2'")
    assert "/p3" in row.prompt
    assert "Scripted Cwp X 3" in row.raw_output
    assert row.answer is None, "an ended run keeps no checkpoints"
    assert bench.sql("SELECT plan FROM enrichment_runs") == [({"selected": []},)]


def test_the_token_limit_stops_at_a_pass_boundary_with_a_partial_result(bench: Bench, model: LlmServer) -> None:
    requested = bench.ask(max_tokens=1)
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason, run.processed_items, run.total_items) == ("Completed", "partial", 1, 5)
    assert [one.code for one in run.warnings] == ["token_limit_reached"]
    assert len(model.requests) == 1
    assert run.counts == {"mapping_name": 1, "mapping_description": 1, "stopped": 36}
    assert "36 of the endpoints and fields" in run.warnings[0].text


def test_only_missing_asks_what_the_first_run_left_and_then_nothing(bench: Bench, model: LlmServer) -> None:
    bench.ask(max_tokens=1)
    bench.work()
    second = bench.ask(only_missing=True)
    bench.work()
    assert bench.run(second).counts["output_field_names"] == 24
    assert "mapping_name" not in bench.run(second).counts
    calls = len(model.requests)
    third = bench.ask(only_missing=True)
    bench.work()
    assert (bench.run(third).state, bench.run(third).reason) == ("Failed", "nothing_to_apply")
    assert len(model.requests) == calls


def test_an_endpoint_that_has_its_name_is_not_asked_for_it_again(bench: Bench, model: LlmServer) -> None:
    bench.ask(targets=("endpoint_names",))
    bench.work()
    rest = bench.ask(only_missing=True)
    bench.work()
    assert "endpoint_names" not in bench.run(rest).counts
    assert bench.run(rest).counts["output_field_names"] == 24
    assert bench.run(rest).warnings == ()


def test_the_same_run_again_writes_the_same_again(bench: Bench, model: LlmServer) -> None:
    bench.ask()
    bench.work()
    first = bench.content()
    again = bench.ask()
    bench.work()
    run = bench.run(again)
    assert (run.state, run.reason, bench.mapping().current_version) == ("Completed", None, 3)
    assert run.counts["output_field_names"] == 24
    assert run.counts["unchanged"] == 2 + 12 + 24 + 24
    old, new = first.name, bench.content().name
    assert old is not None
    assert new is not None
    assert (new.value, new.old, new.run_id) == (old.value, "Waterworks", again.run_id)


def test_only_selected_endpoints_are_asked_and_changed(bench: Bench, model: LlmServer) -> None:
    requested = bench.ask(selected=("GET::/p4", "GET::/p7"), targets=("endpoint_names", "output_field_names"))
    bench.work()
    assert bench.run(requested).counts == {"endpoint_names": 2, "output_field_names": 4}
    named = [endpoint.key for endpoint in bench.content().endpoints if endpoint.name is not None]
    assert named == ["GET::/p4::", "GET::/p7::"]
    assert "/p5" not in model.requests[0].prompt
    assert "mapping" not in facts_of(model.requests[0].user)


def test_what_a_person_wrote_is_not_overwritten(bench: Bench, model: LlmServer) -> None:
    bench.sql(
        "INSERT INTO mapping_versions "
        "(id, account_id, mapping_id, number, definition_id, content_hash, origin, content) "
        "SELECT gen_random_uuid(), account_id, mapping_id, 2, definition_id, content_hash, 'person', "
        'jsonb_set(content, \'{endpoints,0,name}\', \'{"value": "By hand", "origin": "person"}\') FROM mapping_versions'
    )
    bench.sql("UPDATE mappings SET current_version = 2")
    bench.ask()
    bench.work()
    name = bench.content().endpoints[0].name
    assert name is not None
    assert (name.value, name.origin) == ("By hand", "person")
    assert bench.mapping().current_version == 3


def test_with_several_chunks_at_a_time_the_first_goes_alone(bench: Bench, model: LlmServer, set_to: Set) -> None:
    set_to(semantic_enrichment__max_concurrent_chunks=3)
    model.default = enriching(pace=0.01)
    requested = bench.ask(targets=("output_field_names",))
    bench.work()
    first, *others = model.requests
    assert first.ended_at is not None
    assert all(one.at >= first.ended_at for one in others)
    assert model.most_in_flight > 1
    assert bench.run(requested).counts == {"output_field_names": 24}
    prefixes = {one.user[: one.user.index("# Operations")] for one in model.requests}
    assert len(prefixes) == 1


def test_without_a_pass_of_its_own_the_overview_rides_in_the_first_chunk(
    bench: Bench, model: LlmServer, set_to: Set
) -> None:
    set_to(semantic_enrichment__separate_mapping_metadata_pass=False)
    requested = bench.ask()
    bench.work()
    run = bench.run(requested)
    assert (run.total_items, run.counts["mapping_name"]) == (4, 1)
    assert [one.kind for one in bench.passes(requested)] == ["chunk"] * 4
