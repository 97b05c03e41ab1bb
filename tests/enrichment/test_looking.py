"""What people see of a run: figures ahead, before and after, files: D11, D16."""

import json
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from actors.enrichment.estimate import Estimate, estimate
from actors.enrichment.export import export
from actors.enrichment.opaque import is_opaque
from actors.enrichment.reading import list_runs, read_run
from actors.enrichment.request import EnrichmentRequest, Reference
from actors.enrichment.review import review
from base.errors import BadInput, NotFound
from base.ids import uuid7
from base.settings import load
from schema.accounts import account
from schema.engine import Database
from schema.enrichment import run_views
from tests.enrichment.working import WATERWORKS, Bench, definition
from tests.fakes.llm_replies import Answer
from tests.fakes.llm_server import LlmServer
from tests.services.postgres import Clone


@pytest.fixture
def bench(database: Database, account_id: UUID) -> Bench:
    return Bench.of(database, account_id)


def foreseen(database: Database, account_id: UUID, *references: Reference) -> Estimate:
    request = EnrichmentRequest(uuid7(), references=references)
    return estimate(database, account_id, "waterworks.json", WATERWORKS, request, load())


def test_an_estimate_says_what_a_run_would_ask_and_writes_nothing(
    database: Database, account_id: UUID, model: LlmServer
) -> None:
    ahead = foreseen(database, account_id, Reference("notes.txt", b"CwpX0: Who holds the permit."))
    assert (ahead.operations, ahead.fields, ahead.chunks, ahead.passes, ahead.not_asked) == (12, 24, 4, 6, 0)
    with database.account(account_id) as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM api_definitions").scalar() == 0
    assert not model.requests
    bench = Bench.of(database, account_id)
    requested = bench.ask(("notes.txt", "CwpX0: Who holds the permit."))
    bench.work()
    assert bench.run(requested).total_items == 5
    assert len(model.requests) == ahead.passes
    characters = sum(len(one.prompt) for one in model.requests)
    assert ahead.input_tokens == pytest.approx(characters / 4, rel=0.05)


def test_an_estimate_of_a_known_definition_looks_at_its_mapping(bench: Bench, model: LlmServer) -> None:
    bench.ask()
    bench.work()
    request = EnrichmentRequest(uuid7(), only_missing=True)
    ahead = estimate(bench.database, bench.account_id, "x.json", WATERWORKS, request, load())
    assert (ahead.operations, ahead.chunks, ahead.passes) == (0, 0, 0)


def test_before_and_after_show_opaque_names_first_and_what_was_left_open(
    database: Database, account_id: UUID, model: LlmServer
) -> None:
    bench = Bench.of(database, account_id, definition({"/a": ["street", "CwpX"], "/b": ["QtrNc", "street"]}))
    requested = bench.ask(targets=("output_field_names",))
    assert [row.answered for row in review(database, account_id, requested.run_id).rows] == [False] * 3
    bench.work()
    found = review(database, account_id, requested.run_id, limit=2)
    assert [(row.endpoint, row.place, row.token) for row in found.rows] == [
        ("GET /a", "response 200", "CwpX"),
        ("GET /b", "response 200", "QtrNc"),
    ]
    assert (found.rows[0].name_before, found.rows[0].name_after) == (None, "Scripted Cwp X")
    assert (found.total, found.unanswered) == (3, 0)
    assert found.rows[0].description_after is None


def test_opaque_names_are_shown_first_and_then_the_plan_decides(
    database: Database, account_id: UUID, model: LlmServer
) -> None:
    bench = Bench.of(database, account_id, definition({"/a": ["CwpX", "street", "QtrNc"]}))
    fields = [
        {"id": "f1", "name": "Permit", "description": None},
        {"id": "f2", "name": None, "description": "Where it is."},
        {"id": "f3", "name": "Quarters", "description": "How many quarters."},
    ]
    model.then(Answer(json.dumps({"endpoints": [], "fields": fields})))
    requested = bench.ask(targets=("output_field_names", "output_field_descriptions"))
    bench.work()
    shown = review(database, account_id, requested.run_id).rows
    assert [row.token for row in shown] == ["CwpX", "QtrNc", "street"]


def test_endpoints_are_shown_where_no_field_was_asked_for(bench: Bench, model: LlmServer) -> None:
    requested = bench.ask(targets=("endpoint_names",), selected=("GET::/p3",))
    bench.work()
    [row] = review(bench.database, bench.account_id, requested.run_id).rows
    assert (row.endpoint, row.place, row.name_after) == ("GET /p3", "endpoint", "Scripted GET /p3")


def test_a_selection_is_known_when_the_job_is_long_gone(
    bench: Bench, model: LlmServer, clone: Clone, tmp_path: Path
) -> None:
    requested = bench.ask(targets=("endpoint_names",), selected=("GET::/p3", "GET::/p5"))
    bench.work()
    before = review(bench.database, bench.account_id, requested.run_id)
    files = export(bench.database, bench.account_id, requested.run_id, tmp_path / "before", "api").paths
    with bench.database.account(bench.account_id) as connection:
        chosen = run_views.selection(connection, requested.run_id)
    with psycopg.connect(clone.superuser_url.replace("+psycopg", "")) as pruning:
        assert pruning.execute("DELETE FROM jobs").rowcount == 1
    assert len(chosen) == before.total == 2
    assert review(bench.database, bench.account_id, requested.run_id) == before
    after = export(bench.database, bench.account_id, requested.run_id, tmp_path / "after", "api").paths
    assert [path.read_bytes() for path in after] == [path.read_bytes() for path in files]


def test_a_selection_is_known_before_anything_is_planned_and_without_one_it_is_empty(bench: Bench) -> None:
    requested = bench.ask(selected=("GET::/p3",))
    assert review(bench.database, bench.account_id, requested.run_id).total == 2
    assert bench.run(requested).current == ""
    other = Bench.of(bench.database, account(bench.database, "all"))
    everything = other.ask()
    with other.database.account(other.account_id) as connection:
        assert run_views.selection(connection, everything.run_id) == ()


@pytest.mark.parametrize("token", ["CWPQtrsWithNC", "p_c1lon", "E90Exceeds5yr", "FacSIC", "iea"])
def test_cryptic_names_are_opaque(token: str) -> None:
    assert is_opaque(token)


@pytest.mark.parametrize("token", ["petId", "name", "photoUrls", "api_key", "shipDate", "id", "userStatus"])
def test_plain_names_are_not(token: str) -> None:
    assert not is_opaque(token)


def test_the_document_leaves_with_its_texts_and_an_overlay(bench: Bench, model: LlmServer, tmp_path: Path) -> None:
    requested = bench.ask()
    with pytest.raises(BadInput, match="wrote nothing"):
        export(bench.database, bench.account_id, requested.run_id, tmp_path, "api")
    bench.work()
    files = export(bench.database, bench.account_id, requested.run_id, tmp_path / "new" / "folder", "api")
    assert [path.name for path in files.paths] == ["api.enriched.json", "api.overlay.json"]
    enriched, overlay = (json.loads(path.read_bytes()) for path in files.paths)
    original = json.loads(WATERWORKS)
    assert enriched["info"]["title"] == "Scripted Waterworks"
    get = enriched["paths"]["/p0"]["get"]
    assert get["summary"] == "Scripted GET /p0"
    properties = get["responses"]["200"]["content"]["application/json"]["schema"]["properties"]
    assert properties["CwpX0"] == {
        "type": "string",
        "title": "Scripted Cwp X 0",
        "description": "What CwpX0 holds in GET /p0.",
    }
    assert list(enriched["paths"]) == list(original["paths"])
    assert overlay["overlay"] == "1.0.0"


def test_a_folder_that_can_not_be_written_is_one_sentence(bench: Bench, model: LlmServer, tmp_path: Path) -> None:
    requested = bench.ask()
    bench.work()
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="The run itself is kept"):
        export(bench.database, bench.account_id, requested.run_id, tmp_path / "file", "api")


def test_runs_are_listed_newest_first_page_by_page(bench: Bench, model: LlmServer) -> None:
    runs = []
    for _ in range(3):
        runs.append(bench.ask().run_id)
        bench.work()
    runs.append(bench.ask().run_id)
    newest = list_runs(bench.database, bench.account_id, limit=2)
    assert [run.id for run in newest] == runs[:1:-1]
    older = list_runs(bench.database, bench.account_id, before=newest[-1].id)
    assert [run.id for run in older] == runs[1::-1]
    waiting = list_runs(bench.database, bench.account_id, states=["Requested"], mapping=bench.mapping_id)
    assert [run.id for run in waiting] == runs[3:]
    with pytest.raises(NotFound):
        read_run(bench.database, bench.account_id, uuid7())
