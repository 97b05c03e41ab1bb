"""Interrupted runs: nothing that was answered is asked again, and the result is the same to the byte (E29, E30, I7)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from actors.enrichment.export import export
from actors.enrichment.request import Requested
from broker.held import Held
from schema.accounts import account
from schema.engine import Database
from schema.enrichment import passes
from tests.enrichment.conftest import Set
from tests.enrichment.working import Bench, definition
from tests.fakes.llm_enriching import enriched, enriching
from tests.fakes.llm_replies import Answer, prose, too_long
from tests.fakes.llm_server import Exchange, LlmServer, Received, Reply

REFERENCE = ("notes.txt", "CwpX0: Who holds the permit.")


@pytest.fixture
def bench(database: Database, account_id: Any) -> Bench:
    return Bench.of(database, account_id)


class Interrupting:
    """Answers well, and from the n-th request of a claim on asks its run to hand over."""

    def __init__(self, model: LlmServer, answer: Reply | None = None) -> None:
        self._model = model
        self._answer = answer or enriching()
        self._held: Held | None = None
        self._after = 0

    def after(self, requests: int) -> Callable[[Held], None]:
        def hold(held: Held) -> None:
            self._held, self._after = held, len(self._model.requests) + requests

        return hold

    async def __call__(self, exchange: Exchange) -> None:
        if self._held is not None and len(self._model.requests) >= self._after:
            self._held.draining.set()
        await self._answer(exchange)


def exported(bench: Bench, requested: Requested, folder: Path) -> list[bytes]:
    paths = export(bench.database, bench.account_id, requested.run_id, folder, "api").paths
    return [path.read_bytes() for path in paths]


def unbroken(bench: Bench, folder: Path, *references: tuple[str, str]) -> list[bytes]:
    """The result of the same run without interruption, in another account."""
    other = Bench.of(bench.database, account(bench.database, "unbroken"))
    requested = other.ask(*references)
    other.work()
    return exported(other, requested, folder)


def asked(received: Received) -> str:
    """The question itself: the facts at the end of the prompt."""
    return received.user[received.user.rindex("```json") :]


def test_what_a_chunk_asks_keeps_its_order_over_an_interruption(
    database: Database, account_id: Any, model: LlmServer, set_to: Set
) -> None:
    """Fields that a reference knows are asked first, whatever the definition's order (E17)."""
    set_to(semantic_enrichment__chunk_size_operations=1)
    bench = Bench.of(database, account_id, definition({"/a": ["QtrNc", "CwpX"], "/b": ["PdwIds", "FacSic"]}))
    reference = ("dictionary.csv", "Field,Description\nCwpX,Who holds the permit.\nFacSic,What it makes.\n")
    model.default = interrupting = Interrupting(model)
    requested = bench.ask(reference, targets=("output_field_names",))
    bench.work(during=interrupting.after(1))
    bench.work()
    assert bench.run(requested).state == "Completed"
    assert len(model.requests) == 2


@pytest.mark.parametrize("requests", [1, 2, 3, 5])
def test_a_run_goes_on_where_it_was_interrupted(bench: Bench, model: LlmServer, tmp_path: Path, requests: int) -> None:
    model.default = interrupting = Interrupting(model)
    requested = bench.ask(REFERENCE)
    bench.work(during=interrupting.after(requests))
    run = bench.run(requested)
    assert (run.state, run.resuming, len(model.requests)) == ("Processing", True, requests)
    assert bench.mapping().status == "Enriching"
    bench.work()
    assert bench.run(requested).state == "Completed"
    assert len(model.requests) == 6
    assert len({asked(one) for one in model.requests}) == 6, "no question was asked twice"
    assert bench.run(requested).input_tokens == model.input_tokens
    assert exported(bench, requested, tmp_path / "a") == unbroken(bench, tmp_path / "b", REFERENCE)


def test_one_pass_in_each_claim_is_enough(bench: Bench, model: LlmServer) -> None:
    model.default = interrupting = Interrupting(model)
    requested = bench.ask()
    claims = [bench.work(during=interrupting.after(1)) for _ in range(5)]
    assert bench.run(requested).state == "Completed"
    assert [claim.recoveries for claim in claims] == [0] * 5
    assert len(model.requests) == 5


def test_a_handover_that_finished_nothing_counts_against_the_run(bench: Bench, model: LlmServer) -> None:
    requested = bench.ask()
    claims = [bench.work(during=lambda held: held.draining.set()) for _ in range(4)]
    assert [claim.recoveries for claim in claims] == [0, 1, 2, 3]
    run = bench.run(requested)
    assert (run.state, run.reason) == ("Failed", "recovery_exhausted")
    assert run.error is not None
    assert "0 of 5 items were completed" in run.error
    assert bench.mapping().status == "Draft"
    assert not model.requests


def test_several_chunks_in_flight_are_awaited_and_kept(bench: Bench, model: LlmServer, set_to: Set) -> None:
    set_to(semantic_enrichment__max_concurrent_chunks=3, semantic_enrichment__chunk_size_operations=1)
    model.default = interrupting = Interrupting(model, enriching(pace=0.01))
    requested = bench.ask(targets=("output_field_names",))
    bench.work(during=interrupting.after(2))
    assert all(one.ended_at is not None for one in model.requests), "those in flight were awaited"
    assert 2 <= len(model.requests) <= 4
    bench.work()
    assert bench.run(requested).state == "Completed"
    assert len(model.requests) == 12


def test_the_result_does_not_depend_on_timing(bench: Bench, model: LlmServer, set_to: Set, tmp_path: Path) -> None:
    expected = unbroken(bench, tmp_path / "b")
    set_to(semantic_enrichment__max_concurrent_chunks=3)
    model.then(enriching(), enriching(), enriching(pace=0.05), enriching(pace=0.02), enriching())
    requested = bench.ask()
    bench.work()
    ended = [one.chunk_id for one in bench.passes(requested)]
    assert ended != sorted(ended, key=lambda chunk: (chunk != "overview", chunk)), "they ended out of order"
    assert exported(bench, requested, tmp_path / "a") == expected


def test_a_checkpoint_that_can_not_be_read_back_costs_its_own_pass(bench: Bench, model: LlmServer) -> None:
    model.default = interrupting = Interrupting(model)
    requested = bench.ask()
    bench.work(during=interrupting.after(3))
    bench.sql("UPDATE enrichment_passes SET answer = '{\"of\": \"another version\"}' WHERE chunk_id = 'c1'")
    bench.work()
    assert bench.run(requested).state == "Completed"
    assert [one.chunk_id for one in bench.passes(requested)] == ["overview", "c1", "c2", "c1", "c3", "c4"]


def test_a_plan_that_can_not_be_read_back_is_made_again(bench: Bench, model: LlmServer) -> None:
    model.default = interrupting = Interrupting(model)
    requested = bench.ask()
    bench.work(during=interrupting.after(3))
    bench.sql('UPDATE enrichment_runs SET plan = \'{"of": "another version"}\'')
    bench.work()
    assert bench.run(requested).state == "Completed"
    assert len(model.requests) == 5


@pytest.mark.parametrize(
    "changed",
    [
        {"semantic_enrichment__chunk_size_operations": 1},
        {"semantic_enrichment__max_reference_digest_characters": 20},
        {"semantic_enrichment__max_reference_digest_input_characters": 30},
        {"semantic_enrichment__max_prompt_characters": 2500},
        {"semantic_enrichment__enable_reference_distillation": False},
        {"semantic_enrichment__enable_reference_lookup": False},
        {"semantic_enrichment__separate_mapping_metadata_pass": False},
        {"llm__max_completion_tokens": 50},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_resumed_run_goes_by_its_own_terms_whatever_the_settings_say_now(
    bench: Bench, model: LlmServer, set_to: Set, changed: dict[str, object]
) -> None:
    model.default = interrupting = Interrupting(model)
    requested = bench.ask(REFERENCE, ("dictionary.csv", "Field,Description\nCwpX1,Who ran it.\n"))
    bench.work(during=interrupting.after(2))
    set_to(**changed)
    bench.work()
    assert (bench.run(requested).state, bench.run(requested).total_items) == ("Completed", 5)
    assert len(model.requests) == 6


def test_another_model_answers_for_itself(bench: Bench, model: LlmServer, set_to: Set) -> None:
    model.default = interrupting = Interrupting(model)
    requested = bench.ask()
    bench.work(during=interrupting.after(3))
    set_to(llm__model="another")
    bench.work()
    assert bench.run(requested).model == "another"
    assert len(model.requests) == 3 + 5
    assert {text.model for endpoint in bench.content().endpoints if (text := endpoint.name)} == {"another"}


def test_an_unusable_digest_is_not_asked_for_again(bench: Bench, model: LlmServer, set_to: Set) -> None:
    set_to(semantic_enrichment__max_chunk_retries=0)
    model.default = interrupting = Interrupting(model)
    model.then(prose())
    requested = bench.ask(REFERENCE, targets=("endpoint_names",))
    bench.work(during=interrupting.after(3))
    bench.work()
    assert [one.kind for one in bench.passes(requested)] == ["digest", *["chunk"] * 4]
    assert len(model.requests) == 5
    assert all("Who holds the permit" in one.prompt for one in model.requests)


@pytest.mark.parametrize("reply", [too_long, lambda: Answer(enriched, finish="length")], ids=["prompt", "answer"])
def test_a_digest_that_is_too_large_is_not_asked_for_again(
    bench: Bench, model: LlmServer, reply: Callable[[], Reply]
) -> None:
    model.default = interrupting = Interrupting(model)
    model.then(reply())
    requested = bench.ask(REFERENCE, targets=("endpoint_names",))
    bench.work(during=interrupting.after(3))
    bench.work()
    assert [one.kind for one in bench.passes(requested)] == ["digest", *["chunk"] * 4]
    assert len(model.requests) == 5
    [warning] = bench.run(requested).warnings
    assert warning.code == "reference_not_distilled"
    assert "too long for this model" in warning.text


def test_a_split_and_a_half_answer_are_remembered(
    database: Database, account_id: Any, model: LlmServer, tmp_path: Path
) -> None:
    def forgetful(received: Received) -> str:
        said = json.loads(enriched(received))
        return json.dumps({**said, "fields": said["fields"][:1]})

    bench = Bench.of(database, account_id, definition({"/only": ["CwpX", "QtrNc", "FacSic", "PdwIds"]}))
    model.default = interrupting = Interrupting(model)
    script = [Answer(enriched, finish="length"), Answer(forgetful)]
    model.then(*script)
    requested = bench.ask(targets=("output_field_names",))
    claims = 0
    while bench.run(requested).open:
        bench.work(during=interrupting.after(1))
        claims += 1
    # The scripted two can't ask for a handover: split, half an answer and the rest of it are one claim.
    assert claims == 2
    assert [(one.chunk_id, one.status) for one in bench.passes(requested)] == [
        ("c1", "split"),
        ("c1.1", "completed"),
        ("c1.1+", "completed"),
        ("c1.2", "completed"),
    ]
    assert bench.run(requested).counts == {"output_field_names": 4}


def test_a_checkpoint_that_is_refused_costs_nothing_but_itself(
    bench: Bench, model: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = passes.write

    def refused(connection: Connection, account_id: Any, run_id: Any, one: passes.Pass) -> None:
        keep(connection, account_id, run_id, one._replace(kind="no such kind") if one.chunk_id == "c1" else one)  # type: ignore[arg-type]

    monkeypatch.setattr(passes, "write", refused)
    requested = bench.ask()
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason) == ("Completed", None)
    assert [one.chunk_id for one in bench.passes(requested)] == ["overview", "c2", "c3", "c4"]
    assert run.input_tokens == model.input_tokens
