"""What references and the user's own glossary bring into a run: E12 to E14, D13, D14."""

from uuid import UUID

import pytest

from schema.engine import Database
from tests.enrichment.conftest import Set
from tests.enrichment.working import Bench
from tests.fakes.llm_replies import (
    Answer,
)
from tests.fakes.llm_server import LlmServer


@pytest.fixture
def bench(database: Database, account_id: UUID) -> Bench:
    return Bench.of(database, account_id)


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


TABLE = ("dictionary.csv", "Field,Description\nCwpX0,Who holds the permit.\n")


@pytest.mark.parametrize(
    ("prose", "is_in_every_chunk", "code"),
    [
        ("Nothing that anybody could use.", True, "reference_not_distilled"),
        ("Far too much. " * 1500, False, "reference_unused"),
    ],
    ids=["short", "long"],
)
def test_prose_beside_a_table_is_not_dropped_silently(
    bench: Bench, model: LlmServer, prose: str, is_in_every_chunk: bool, code: str
) -> None:
    model.then(Answer('{"entries": []}'))
    requested = bench.ask(TABLE, ("notes.txt", prose), targets=("output_field_names",))
    bench.work()
    digest, *chunks = model.requests
    assert prose[:14] in digest.prompt
    assert [prose[:14] in one.prompt for one in chunks] == [is_in_every_chunk] * 4
    assert [one.code for one in bench.run(requested).warnings] == ["reference_lookup", code]


def test_without_distillation_the_text_is_in_every_chunk_as_it_is(bench: Bench, model: LlmServer, set_to: Set) -> None:
    set_to(semantic_enrichment__enable_reference_distillation=False)
    said = "CwpX0: Who holds the permit.\n\n```\nA fence of its own.\n```"
    requested = bench.ask(("notes.txt", said), targets=("output_field_names",))
    bench.work()
    assert {one.kind for one in bench.passes(requested)} == {"chunk"}
    assert [said in one.prompt for one in model.requests] == [True] * 4
    assert "notes.txt" in model.requests[0].prompt
    assert bench.run(requested).warnings == ()
