"""What counts as an answer: D2, D7, D9."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.enrichment import cleaning, facts
from actors.enrichment.answers import (
    ChunkAnswer,
    FieldAnswer,
    InvalidAnswer,
    gate,
    read_chunk,
    read_digest,
    read_overview,
)
from schema.enrichment.payloads import TARGETS
from tests.enrichment.making import asked, field, operation, query

PART = (
    asked(operation("/a", query("p_st"), field("CWPName"))),
    asked(operation("/b", field("Id"), operation_id="getB"), name=False),
)
GOOD = {
    "endpoints": [{"id": "o1", "name": "List Facilities"}],
    "fields": [
        {"id": "f1", "name": "State", "description": "Two-letter code."},
        {"id": "f2", "name": "Facility Name", "description": None},
        {"id": "f3", "name": None, "description": None},
    ],
}


def read(text: str) -> ChunkAnswer:
    return read_chunk(text, PART, gate("api.example"))


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(GOOD),
        f"```json\n{json.dumps(GOOD, indent=2)}\n```",
        f"Here you are:\n\n```\n{json.dumps(GOOD)}\n```\nAnything else?",
        f"Sure! {json.dumps(GOOD)} I hope that helps.",
        f"<think>The {{token}} is odd.</think>\n```json\n{json.dumps(GOOD)}\n```",
        json.dumps(GOOD).replace("Two-letter", "Two\tletter\x01"),
    ],
)
def test_json_is_found_in_fences_and_prose(text: str) -> None:
    answer = read(text)
    assert answer.operations["GET::/a::"].name == "List Facilities"
    assert answer.operations["GET::/a::"].fields["query||p_st"].name == "State"
    assert answer.unanswered(PART) == ()


@pytest.mark.parametrize(
    "text",
    ["", "  \n", "I can't do that.", "[1, 2]", '"text"', '{"answer": 42}', json.dumps(GOOD)[:-30], "{" * 5000],
)
def test_what_is_no_answer_is_refused(text: str) -> None:
    with pytest.raises(InvalidAnswer):
        read(text)


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    for reader in (read, read_overview, read_digest):
        try:
            reader(text)
        except InvalidAnswer:
            continue


def test_an_endpoint_whose_name_is_not_asked_has_no_id_to_answer() -> None:
    first, second = facts.of_chunk(PART, (), TARGETS)["operations"]
    assert (first.get("id"), second.get("id")) == ("o1", None)
    assert list(facts.ids(PART)[0]) == ["o1"]


def test_what_was_not_asked_is_dropped_and_counted() -> None:
    answer = read(json.dumps({"endpoints": [{"id": "o2", "name": "x"}], "fields": [{"id": "f9", "name": "y"}]}))
    assert answer.operations == {}
    assert answer.unasked == 2
    assert answer.unanswered(PART) == PART


def test_null_is_an_answer_and_an_absent_id_is_none() -> None:
    answer = read(json.dumps({"endpoints": [], "fields": [{"id": "f3", "name": None, "description": None}]}))
    assert [(one.operation.path, one.name, len(one.fields)) for one in answer.unanswered(PART)] == [("/a", True, 2)]


def test_one_broken_entry_costs_that_entry() -> None:
    said = {"endpoints": "none", "fields": [{"id": "f1", "name": ["State"]}, {"id": "f2", "name": "Facility Name"}, 7]}
    answer = read(json.dumps(said))
    assert answer.operations["GET::/a::"].fields == {
        "response|200|CWPName": FieldAnswer(name="Facility Name", description=None)
    }


def test_texts_nobody_wanted_are_not_taken() -> None:
    part = (asked(operation("/a", query("p_st"))),)
    narrowed = (part[0].having({"query||p_st"}, name=False),)
    answer = read_chunk(json.dumps(GOOD), narrowed, gate("x"))
    assert answer.operations["GET::/a::"].named is False


@pytest.mark.parametrize(("name", "kept"), [("CWPName", None), ("CWP name", None), ("Permit Holder", "Permit Holder")])
def test_a_name_no_better_than_the_identifier_is_dropped(name: str, kept: str | None) -> None:
    answer = read(json.dumps({"fields": [{"id": "f2", "name": name, "description": "Who holds it."}]}))
    said = answer.operations["GET::/a::"].fields["response|200|CWPName"]
    assert said.name == kept
    assert said.description == "Who holds it."
    assert answer.dropped == (kept is None)


def test_the_offline_model_may_say_the_identifier_in_words() -> None:
    said = json.dumps({"fields": [{"id": "f2", "name": "CWP Name"}, {"id": "f3", "name": "Id"}]})
    answer = read_chunk(said, PART, gate("offline"))
    assert answer.operations["GET::/a::"].fields["response|200|CWPName"].name == "CWP Name"
    assert answer.operations["GET::/b::getB"].fields["response|200|Id"].name is None


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("Facility <b>Name</b>", "Facility Name"),
        ("&lt;script&gt;alert(1)&lt;/script&gt;Name", "alert(1)Name"),
        ("a < b and c > d", "a < b and c > d"),
        ("Na\x00me\ud800\x07", "Name"),
        ("one\nline", "one line"),
        ("evil\u202etxt", "eviltxt"),
        ("Customer Number.", "Customer Number"),
        ("e.g. No.", "e.g. No."),
    ],
)
def test_names_are_cleaned(dirty: str, clean: str) -> None:
    assert cleaning.name(dirty) == clean


@given(st.text())
def test_cleaned_texts_are_short_and_can_be_stored(text: str) -> None:
    for clean, limit in ((cleaning.name(text), 120), (cleaning.description(text), 2000)):
        assert len(clean) <= limit
        assert "\x00" not in clean
        clean.encode()


def test_a_digest_keeps_what_can_be_used() -> None:
    said = {
        "entries": [
            {"key": "p_st", "kind": "parameter", "meaning": "State", "endpoints": ["GET /a"], "note": "CA, NV"},
            {"key": "", "kind": "field", "meaning": "nothing"},
            {"key": "x", "kind": "field", "meaning": "  "},
            {"key": "y", "kind": "odd", "meaning": "never"},
            {"key": "z", "meaning": "a bare one", "endpoints": None},
        ]
    }
    entries = read_digest(json.dumps(said)).entries
    assert [(entry.key, entry.endpoints, entry.note) for entry in entries] == [
        ("p_st", ("GET /a",), "CA, NV"),
        ("z", (), ""),
    ]
