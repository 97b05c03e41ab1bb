"""How runs are asked for, refused, found again, canceled, and fail before a call: E1, E3, E5, E7, E8, E11, D15."""

from typing import Any
from uuid import UUID

import pytest

from actors.enrichment.importing import import_definition
from base.errors import BadInput, Conflict
from base.ids import uuid7
from ledger import ending
from schema.engine import Database
from tests.enrichment.working import WATERWORKS, Bench, definition
from tests.fakes.llm_server import LlmServer

ALONE = definition({"/only": ["CwpX", "QtrNc", "FacSic", "PdwIds"]})


@pytest.fixture
def bench(database: Database, account_id: UUID) -> Bench:
    return Bench.of(database, account_id)


def test_the_same_request_finds_the_open_run_and_another_is_refused(bench: Bench, model: LlmServer) -> None:
    first = bench.ask(("a.txt", "x: y"), instructions="One")
    again = bench.ask(("a.txt", "x: y"), instructions="One")
    assert (again.resumed, again.run_id, again.job_id) == (True, first.run_id, first.job_id)
    others: list[dict[str, Any]] = [
        {"instructions": "Two"},
        {"targets": ("endpoint_names",)},
        {"selected": ("GET::/p1",)},
        {"model": "other"},
        {"only_missing": True},
        {"language": "German"},
        {"max_tokens": 7},
        {"glossary": "key,name\nCwpX0,Permit\n"},
    ]
    for other in others:
        with pytest.raises(Conflict) as conflict:
            bench.ask(("a.txt", "x: y"), **{"instructions": "One", **other})
        assert conflict.value.open_id == str(first.run_id)
    with pytest.raises(Conflict):
        bench.ask(("a.txt", "x: z"), instructions="One")
    bench.work()
    assert not bench.ask(("a.txt", "x: y"), instructions="One").resumed, "a finished run is never reused"


def test_a_bad_request_writes_nothing(bench: Bench) -> None:
    bad: list[dict[str, Any]] = [{"targets": ("field_names",)}, {"selected": ("GET::/nowhere",)}, {"glossary": "none"}]
    for wishes in bad:
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
    assert ending.cancel(bench.database, bench.account_id, requested.job_id, by="a test").answer == "accepted"
    run = bench.run(requested)
    assert (run.state, run.reason) == ("Canceled", "canceled_by_operator")
    assert bench.mapping().status == "Draft"
    assert bench.claim() is None
    assert not bench.ask().resumed


def test_guids_that_match_nothing_fail_the_run_before_any_call(bench: Bench, model: LlmServer) -> None:
    requested = bench.ask(selected=(str(uuid7()),))
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason) == ("Failed", "selection_matches_nothing")
    assert bench.mapping().status == "Draft"
    assert not model.requests


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
