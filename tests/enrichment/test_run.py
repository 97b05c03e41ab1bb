"""Whole runs on a real database against a scripted model: what is applied, counted, logged and left alone."""

import json
from uuid import UUID

import pytest

from actors.enrichment.importing import import_definition
from base.errors import BadInput, Conflict
from base.ids import uuid7
from ledger import ending
from schema.engine import Database
from tests.enrichment.conftest import Set
from tests.enrichment.working import WATERWORKS, Bench, definition
from tests.fakes.llm_enriching import enriched, enriching
from tests.fakes.llm_replies import (
    Answer,
    error_in_stream,
    fenced,
    filtered,
    out_of_quota,
    prose,
    refusing,
    throttled,
    too_long,
    unauthorized,
)
from tests.fakes.llm_server import LlmServer, Received, by_characters

ALONE = definition({"/only": ["CwpX", "QtrNc", "FacSic", "PdwIds"]})


@pytest.fixture
def bench(database: Database, account_id: UUID) -> Bench:
    return Bench.of(database, account_id)


def kinds(received: Received) -> str:
    found: str = json.loads(received.user[received.user.rindex("```json") + 7 : received.user.rindex("```")])["kind"]
    return found


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
    assert bench.sql("SELECT plan FROM enrichment_runs") == [(None,)]


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
    model.default = filtered()
    requested = bench.ask(targets=("endpoint_names",))
    bench.work()
    run, mapping = bench.run(requested), bench.mapping()
    assert (run.state, run.reason, run.failed_items) == ("Failed", "all_chunks_failed", 4)
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


def test_what_was_answered_before_the_quota_ran_out_is_kept(bench: Bench, model: LlmServer) -> None:
    model.then(enriching(), enriching(), out_of_quota())
    requested = bench.ask()
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason, run.completed_items, run.total_items) == ("Completed", "partial", 2, 5)
    assert [warning.code for warning in run.warnings] == ["model_refusing"]
    assert len(model.requests) == 3


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


def test_the_token_limit_stops_at_a_pass_boundary_with_a_partial_result(bench: Bench, model: LlmServer) -> None:
    requested = bench.ask(max_tokens=1)
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason, run.processed_items, run.total_items) == ("Completed", "partial", 1, 5)
    assert [one.code for one in run.warnings] == ["token_limit_reached"]
    assert len(model.requests) == 1
    assert run.counts == {"mapping_name": 1, "mapping_description": 1}


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


def test_only_selected_endpoints_are_asked_and_changed(bench: Bench, model: LlmServer) -> None:
    requested = bench.ask(selected=("GET::/p4", "GET::/p7"), targets=("endpoint_names", "output_field_names"))
    bench.work()
    assert bench.run(requested).counts == {"endpoint_names": 2, "output_field_names": 4}
    named = [endpoint.key for endpoint in bench.content().endpoints if endpoint.name is not None]
    assert named == ["GET::/p4::", "GET::/p7::"]
    assert "/p5" not in model.requests[0].prompt


def test_guids_that_match_nothing_fail_the_run_before_any_call(bench: Bench, model: LlmServer) -> None:
    requested = bench.ask(selected=(str(uuid7()),))
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason) == ("Failed", "selection_matches_nothing")
    assert bench.mapping().status == "Draft"
    assert not model.requests


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


def test_the_users_glossary_wins_and_is_not_asked_about(bench: Bench, model: LlmServer) -> None:
    glossary = "key,name,meaning\nCwpX0,Permit Holder,Who holds the permit.\nQtrNc1,Quarters,\n"
    bench.ask(glossary=glossary, targets=("output_field_names", "output_field_descriptions"))
    bench.work()
    content = bench.content()
    settled = content.endpoints[0].outputs[0]
    assert settled.name is not None
    assert settled.description is not None
    assert (settled.name.value, settled.name.origin, settled.name.pass_key) == ("Permit Holder", "user", None)
    assert settled.description.value == "Who holds the permit."
    assert "CwpX0" not in model.requests[0].prompt
    half = content.endpoints[1].outputs[1]
    assert half.name is not None
    assert half.description is not None
    assert (half.name.origin, half.description.origin) == ("user", "model")


def test_a_table_is_looked_up_without_a_call_and_prose_is_distilled_once(bench: Bench, model: LlmServer) -> None:
    requested = bench.ask(
        ("dictionary.csv", "Field,Description\nCwpX0,Who holds the permit.\nCwpX1,Who ran it.\n"),
        ("notes.txt", "Some notes.\nQtrNc0: Quarters in noncompliance.\nNothing more."),
        instructions="Say it plainly.",
        targets=("output_field_descriptions",),
    )
    bench.work()
    passes = bench.passes(requested)
    assert [one.kind for one in passes] == ["digest", *["chunk"] * 4]
    assert passes[0].suggestions == {"glossary_entries": 1}
    digest, first, second, *_ = model.requests
    assert "Say it plainly" not in digest.prompt
    assert "Who holds the permit" not in digest.prompt
    assert "Say it plainly" in first.prompt
    assert "Who holds the permit" in first.prompt
    assert "Who holds the permit" not in second.prompt
    outputs = [field for endpoint in bench.content().endpoints[:2] for field in endpoint.outputs]
    said = [(field.description.value, field.description.origin) for field in outputs if field.description is not None]
    assert said[:3] == [
        ("Who holds the permit.", "lookup"),
        ("Quarters in noncompliance.", "model"),
        ("Who ran it.", "lookup"),
    ]
    assert bench.run(requested).total_items == 4, "the digest is no item"


def test_an_unusable_digest_leaves_the_reference_in_every_chunk(bench: Bench, model: LlmServer) -> None:
    model.then(Answer('{"entries": []}'))
    requested = bench.ask(("notes.txt", "Nothing that anybody could use."), targets=("endpoint_names",))
    bench.work()
    assert all("Nothing that anybody could use." in one.prompt for one in model.requests)
    assert [one.code for one in bench.run(requested).warnings] == ["reference_not_distilled"]
    assert bench.run(requested).state == "Completed"


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


def test_the_same_request_finds_the_open_run_and_another_is_refused(bench: Bench, model: LlmServer) -> None:
    first = bench.ask(("a.txt", "x: y"), instructions="One")
    again = bench.ask(("a.txt", "x: y"), instructions="One")
    assert (again.resumed, again.run_id, again.job_id) == (True, first.run_id, first.job_id)
    for other in (
        lambda: bench.ask(("a.txt", "x: z"), instructions="One"),
        lambda: bench.ask(("a.txt", "x: y"), instructions="Two"),
        lambda: bench.ask(("a.txt", "x: y"), instructions="One", targets=("endpoint_names",)),
        lambda: bench.ask(("a.txt", "x: y"), instructions="One", selected=("GET::/p1",)),
        lambda: bench.ask(("a.txt", "x: y"), instructions="One", model="other"),
        lambda: bench.ask(("a.txt", "x: y"), instructions="One", only_missing=True),
    ):
        with pytest.raises(Conflict) as conflict:
            other()
        assert conflict.value.open_id == str(first.run_id)
    bench.work()
    assert not bench.ask(("a.txt", "x: y"), instructions="One").resumed, "a finished run is never reused"


def test_a_bad_request_writes_nothing(bench: Bench) -> None:
    for wishes in ({"targets": ("field_names",)}, {"selected": ("GET::/nowhere",)}):
        with pytest.raises(BadInput):
            bench.ask(**wishes)
    assert bench.sql("SELECT count(*) FROM enrichment_runs") == [(0,)]
    assert bench.mapping().status == "Draft"


NEWER_VERSION = (
    "INSERT INTO mapping_versions SELECT gen_random_uuid(), account_id, mapping_id, 2, definition_id, "
    "content_hash, origin, run_id, content FROM mapping_versions; UPDATE mappings SET current_version = 2"
)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        ("UPDATE mappings SET status = 'Draft', status_before = NULL, enriching_run_id = NULL", "no longer waits"),
        ("UPDATE mappings SET enriching_run_id = gen_random_uuid()", "no longer waits"),
        ("UPDATE api_definitions SET content_hash = repeat('0', 64)", "not the one"),
        (NEWER_VERSION, "newer version"),
    ],
    ids=["released", "given to another run", "another definition", "newer version"],
)
def test_a_run_whose_context_is_lost_fails_before_any_call(
    bench: Bench, model: LlmServer, damage: str, sentence: str
) -> None:
    requested = bench.ask()
    for statement in damage.split("; "):
        bench.sql(statement)
    held_by = bench.mapping().enriching_run_id
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason) == ("Failed", "context_lost")
    assert run.error is not None
    assert sentence in run.error
    assert not model.requests
    other = held_by if held_by != requested.run_id else None
    assert bench.mapping().enriching_run_id == other, "a mapping is released only by the run that holds it"


def test_a_canceled_run_leaves_the_mapping_as_it_was(bench: Bench, model: LlmServer) -> None:
    requested = bench.ask()
    assert ending.cancel(bench.database, bench.account_id, requested.job_id, by="a test") == "accepted"
    run = bench.run(requested)
    assert (run.state, run.reason) == ("Canceled", "canceled_by_operator")
    assert bench.mapping().status == "Draft"
    assert bench.claim() is None
    assert not bench.ask().resumed


def test_a_new_version_of_the_definition_keeps_what_was_accepted(bench: Bench, model: LlmServer) -> None:
    bench.ask()
    bench.work()
    old = bench.content()
    paths = {f"/p{number}": [f"CwpX{number}", f"Fresh{number}"] for number in range(11)} | {"/new": ["Other"]}
    imported = import_definition(
        bench.database, bench.account_id, "v2.json", definition(paths), mapping=bench.mapping_id
    )
    assert (imported.mapping_id, imported.version, imported.created) == (bench.mapping_id, 3, False)
    assert any(change.operation == "GET::/new::" for change in imported.changes.added)
    new = bench.content()
    assert [endpoint.id for endpoint in new.endpoints[:11]] == [endpoint.id for endpoint in old.endpoints[:11]]
    assert new.endpoints[0].outputs[0] == old.endpoints[0].outputs[0]
    requested = bench.ask(only_missing=True)
    bench.work()
    assert bench.run(requested).counts["output_field_names"] == 12


def test_importing_the_same_bytes_answers_the_same_mapping(database: Database, account_id: UUID) -> None:
    first = import_definition(database, account_id, "a.json", WATERWORKS)
    again = import_definition(database, account_id, "b.json", WATERWORKS)
    assert (first.created, again.created) == (True, False)
    assert (again.mapping_id, again.definition_id, again.version) == (first.mapping_id, first.definition_id, 1)


def test_a_definition_can_not_change_under_an_open_run(bench: Bench, model: LlmServer) -> None:
    requested = bench.ask()
    with pytest.raises(Conflict) as conflict:
        import_definition(bench.database, bench.account_id, "v2.json", ALONE, mapping=bench.mapping_id)
    assert conflict.value.open_id == str(requested.run_id)


def test_fenced_is_no_failure(bench: Bench, model: LlmServer) -> None:
    model.then(fenced({"name": "Water Works", "description": None}))
    requested = bench.ask(targets=("mapping_name",))
    bench.work()
    assert bench.run(requested).counts == {"mapping_name": 1}
