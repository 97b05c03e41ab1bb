"""The user's own glossary in every form it may come in."""

import json

import pytest

from actors.enrichment.reference import glossary_file
from base.errors import BadInput
from base.settings import Limits
from schema.enrichment.glossary import GlossaryEntry


def read(name: str, text: str) -> list[GlossaryEntry]:
    return list(glossary_file.read(name, text.encode(), Limits()))


def test_a_table_with_all_columns_is_read() -> None:
    text = (
        "key,name,meaning,endpoints,note\n"
        'p_act,Active,Whether it is active,"get /a, POST /b",Y or N\n'
        "GET /a,List Things,,,\n"
        "empty,,,,\n"
    )
    assert read("mine.csv", text) == [
        GlossaryEntry(
            key="p_act",
            kind="field",
            name="Active",
            meaning="Whether it is active",
            endpoints=("GET /a", "POST /b"),
            note="Y or N",
            source="user",
        ),
        GlossaryEntry(key="GET /a", kind="endpoint", name="List Things", meaning="", source="user"),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mine.csv", "Token;Description\np_act;Whether it is active\n"),
        ("mine.csv", "a,b\np_act,Whether it is active\n"),
        ("mine.md", "| Field | Meaning |\n|---|---|\n| `p_act` | Whether it is active |\n"),
        ("mine.md", "- `p_act`: Whether it is active\n"),
        ("mine.json", json.dumps([{"key": "p_act", "meaning": "Whether it is active"}])),
        ("mine.json", json.dumps({"p_act": "Whether it is active", "x": ""})),
        ("mine.json", json.dumps({"p_act": {"text": "Whether it is active"}, "x": {"text": ""}})),
    ],
)
def test_a_key_and_a_meaning_are_enough(name: str, text: str) -> None:
    assert [(entry.key, entry.name, entry.meaning) for entry in read(name, text)] == [
        ("p_act", "", "Whether it is active")
    ]


def test_a_table_of_names_gives_names() -> None:
    assert [(entry.key, entry.name) for entry in read("mine.csv", "token,name\np_act,Active\n")] == [
        ("p_act", "Active")
    ]


def test_names_and_meanings_are_made_fit_to_store_and_keys_stay() -> None:
    meaning = "&lt;script&gt;Whether\x07 it is " + "x" * 3000
    dirty = {"key": "p<b>", "name": "<b>Active</b>\u202e\nNow", "meaning": meaning}
    [entry] = read("mine.json", json.dumps([dirty, {"key": "q", "name": "<i></i>"}]))
    assert (entry.key, entry.name) == ("p<b>", "Active Now")
    assert entry.meaning.startswith("Whether it is x")
    assert len(entry.meaning) <= 2000


def test_of_two_rows_about_one_thing_the_first_counts() -> None:
    text = "key,meaning\na,One thing\nb,A thing\na,Another thing\n"
    assert [(entry.key, entry.meaning) for entry in read("mine.csv", text)] == [("a", "One thing"), ("b", "A thing")]


def test_a_file_without_a_glossary_is_refused() -> None:
    for name, text in (("mine.txt", "Only words."), ("mine.json", "{}"), ("mine.csv", "key,meaning\na,\n")):
        with pytest.raises(BadInput, match="holds no glossary"):
            read(name, text)
    with pytest.raises(BadInput, match="is empty"):
        read("mine.csv", " ")
