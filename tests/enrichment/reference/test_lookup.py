"""Lookup: the right column, the right scope, and no text rather than a wrong one (D13)."""

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from actors.enrichment.definition import walking
from actors.enrichment.definition.reading import read
from actors.enrichment.definition.recognising import spec_version
from actors.enrichment.reference.lookup import BROKEN, WARNING, Lookup, lookup
from schema.enrichment.glossary import GlossaryEntry
from schema.enrichment.inventory import Field, Operation, operation_key

DATA = Path(__file__).parents[2] / "data"
EXAMPLES = Path(__file__).parents[3] / "examples"


def output(path: str, schema: str = "") -> Field:
    token = path.rsplit(".", 1)[-1].removesuffix("[]")
    return Field(location="response", status="200", path=path, token=token, schema_name=schema, pointer="")


def query(name: str) -> Field:
    return Field(location="query", path=name, token=name, pointer="")


def operation(
    path: str, *outputs: Field, inputs: Sequence[Field] = (), method: str = "GET", name: str = ""
) -> Operation:
    key = operation_key(method, path, name)
    return Operation(
        key=key, method=method, path=path, operation_id=name, pointer="", inputs=tuple(inputs), outputs=outputs
    )


def looked_up(table: object, *operations: Operation, name: str = "ref.json") -> Lookup:
    return lookup([(name, table if isinstance(table, str) else json.dumps(table))], operations)


def meanings(found: Lookup) -> dict[tuple[str, tuple[str, ...]], str]:
    return {(entry.key, entry.endpoints): entry.meaning for entry in found.entries}


def definition(path: Path) -> tuple[Operation, ...]:
    source = read(path.read_bytes(), path.name, 50_000_000)
    return walking.inventory(source.root, spec_version(source), source.media).operations


def test_the_agencys_dictionary_gives_its_own_words() -> None:
    text = (EXAMPLES / "epa-cwa-dictionary.json").read_text()
    rows = json.loads(text)["Results"]["ResultColumns"]
    written = {row["ObjectName"]: row["Description"] for row in rows}
    found = lookup([("dictionary.json", text)], definition(EXAMPLES / "epa-cwa.json"))
    assert found.found >= 225
    assert found.total == 540
    assert found.prose == ()
    assert all(entry.meaning == written[entry.key] for entry in found.entries if entry.key in written)
    assert [(warning.code, "not used" in warning.text) for warning in found.warnings] == [(WARNING, True)]
    assert f"{found.found} of 540 names found" in found.warnings[0].text


def test_a_dictionary_without_meanings_gives_no_entry() -> None:
    text = (DATA / "ref-epa-sdw-metadata.json").read_text()
    found = lookup([("ref.json", text)], definition(DATA / "epa-sdw.json"))
    assert not [entry for entry in found.entries if entry.meaning]
    assert "have no text" in found.warnings[0].text
    assert found.prose == ()


def test_a_heading_that_names_a_schema_keeps_its_table_to_that_schema() -> None:
    text = (DATA / "ref-ach-file-structure.md").read_text()
    operations = definition(DATA / "moov-ach.yaml")
    found = lookup([("ref.md", text)], operations)
    paths = {field.path: field for one in operations for field in (*one.inputs, *one.outputs)}
    narrowed = [entry for entry in found.entries if "." in entry.key]
    assert narrowed
    of_control = [
        entry for entry in narrowed if entry.meaning.startswith("Number Batches Sequentially. Must match that")
    ]
    assert of_control
    assert {paths[entry.key].schema_name for entry in of_control} <= {"BatchControl", "ADVBatchControl"}
    assert found.prose == (("ref.md", text),)


def test_json_that_is_none_is_read_as_text_and_said_so() -> None:
    broken = '[\n {"key": "qty", "text": "How many."},\n {"key": "act" "text": "Whether it is active."}\n]'
    found = looked_up(broken, operation("/a", output("qty")), name="codes.json")
    assert found.warnings[0].code == BROKEN
    assert found.warnings[0].text.startswith("codes.json is no valid JSON at line 3, column ")
    assert found.prose == (("codes.json", broken),)
    lines = '{"key": "qty", "text": "How many."}\n\n{"key": "act", "text": }\n'
    assert "at line 3, column" in looked_up(lines, operation("/a", output("qty")), name="codes.json").warnings[0].text


def test_what_is_json_or_never_called_itself_so_is_not_broken() -> None:
    place = operation("/a", output("qty"))
    assert looked_up('"a text"', place).warnings == ()
    assert looked_up("{not json", place, name="notes.txt").warnings == ()
    lines = '{"key": "qty", "text": "How many."}\n{"key": "act", "text": "Whether."}\n'
    assert [one.code for one in looked_up(lines, place).warnings] == [WARNING]


def test_spelling_does_not_matter_where_it_is_clear_what_is_meant() -> None:
    table = [
        {"column": "QTY_ORDERED", "text": "How many were ordered."},
        {"column": "act", "text": "Whether it is active."},
        {"column": "st", "text": "The state of it."},
    ]
    fields = [query("p_act"), query("p_st"), query("p_st_"), query("other")]
    found = looked_up(table, operation("/a", output("qtyOrdered"), inputs=fields))
    assert meanings(found) == {("qtyOrdered", ()): "How many were ordered.", ("p_act", ()): "Whether it is active."}
    assert {entry.key: entry.kind for entry in found.entries} == {"qtyOrdered": "field", "p_act": "parameter"}


def test_a_shorter_prose_column_headed_as_meaning_beats_a_longer_one() -> None:
    table = [
        {"key": "a_b", "Example": "Something rather long that is only an example", "Description": "The meaning of it"},
        {"key": "c_d", "Example": "Another example that goes on and on as they do", "Description": "What it is for"},
    ]
    found = looked_up(table, operation("/a", output("aB"), output("cD")))
    assert meanings(found) == {("aB", ()): "The meaning of it", ("cD", ()): "What it is for"}


def test_a_readable_name_is_kept_and_a_mere_spelling_is_not() -> None:
    table = [
        {"key": "qtyOrd", "label": "Quantity Ordered", "type": "int", "text": "How many were ordered."},
        {"key": "SDWAIDs", "label": "SDWA_IDS", "type": "str", "text": "The ids of the system."},
        {"key": "city", "label": "CITY", "type": "str", "text": "The name of the city."},
    ]
    found = looked_up(table, operation("/a", output("qtyOrd"), output("SDWAIDs"), output("city")))
    assert {entry.key: entry.name for entry in found.entries} == {
        "qtyOrd": "Quantity Ordered",
        "SDWAIDs": "SDWA IDs",
        "city": "",
    }


def test_a_row_without_a_meaning_may_still_name_a_token() -> None:
    table = [{"key": "KENNR", "label": "Registration Number", "text": None}, {"key": "x1", "label": "x1", "text": None}]
    found = looked_up(table, operation("/a", output("KENNR"), output("x1")))
    assert [(entry.key, entry.name, entry.meaning) for entry in found.entries] == [("KENNR", "Registration Number", "")]


HOURLY, DAILY = operation("/rain/hourly", output("amount")), operation("/rain/daily", output("amount"))


def test_a_column_of_endpoints_scopes_its_rows() -> None:
    table = [
        {"where": "/rain/hourly", "key": "amount", "text": "Rain of an hour."},
        {"where": "GET /rain/daily", "key": "amount", "text": "Rain of a day."},
        {"where": "/rain/yearly", "key": "amount", "text": "Rain of a year."},
    ]
    found = looked_up(table, HOURLY, DAILY)
    assert meanings(found) == {
        ("amount", ("GET /rain/hourly",)): "Rain of an hour.",
        ("amount", ("GET /rain/daily",)): "Rain of a day.",
    }
    assert "1 speak of an endpoint that is not in this definition" in found.warnings[0].text


SECTIONS = """# Rain
## hourly
 {amount} is the rain of an hour.
## daily
| Name | Meaning |
|---|---|
| amount | Rain of a day. |
## yearly
- `amount`: Rain of a year.
"""


def test_a_section_per_endpoint_scopes_what_stands_in_it() -> None:
    found = looked_up(SECTIONS, HOURLY, DAILY, name="ref.md")
    assert meanings(found) == {
        ("amount", ("GET /rain/hourly",)): "amount is the rain of an hour.",
        ("amount", ("GET /rain/daily",)): "Rain of a day.",
    }


def test_the_text_of_an_endpoint_that_is_gone_is_used_nowhere() -> None:
    found = looked_up(SECTIONS, HOURLY, DAILY, operation("/other", output("amount")), name="ref.md")
    assert not any("year" in entry.meaning for entry in found.entries)
    assert all(entry.endpoints for entry in found.entries)
    assert "1 stand under an endpoint that is not in this definition" in found.warnings[0].text


def test_rows_that_contradict_each_other_give_nothing() -> None:
    table = [
        {"key": "amount", "text": "Rain of an hour."},
        {"key": "amount", "text": "Rain of a day."},
        {"key": "depth", "text": "Snow."},
        {"key": "depth", "text": "Snow. In cm."},
    ]
    found = looked_up(table, operation("/a", output("amount"), output("depth")))
    assert meanings(found) == {("depth", ()): "Snow. In cm."}
    assert "2 contradict each other" in found.warnings[0].text


def test_of_two_references_the_first_counts() -> None:
    first, second = [{"k": "amount", "t": "The first text."}], [{"k": "amount", "t": "The second text."}]
    found = lookup([("a.json", json.dumps(first)), ("b.json", json.dumps(second))], [HOURLY])
    assert [entry.meaning for entry in found.entries] == ["The first text."]
    assert len(found.warnings) == 2


def test_a_table_of_endpoints_describes_the_endpoints() -> None:
    table = "| Path | What it does |\n|---|---|\n| /rain/hourly | Rain by hour |\n| `GET /rain/daily` | Rain by day |\n"
    found = looked_up(table, HOURLY, DAILY, name="ref.md")
    assert [(entry.key, entry.kind, entry.meaning) for entry in found.entries] == [
        ("GET /rain/hourly", "endpoint", "Rain by hour"),
        ("GET /rain/daily", "endpoint", "Rain by day"),
    ]


def test_a_csv_without_a_header_loses_no_row() -> None:
    found = looked_up(
        "amount,Rain of an hour\ndepth,Depth of snow\n",
        operation("/a", output("amount"), output("depth")),
        name="ref.csv",
    )
    assert meanings(found) == {("amount", ()): "Rain of an hour", ("depth", ()): "Depth of snow"}


def test_prose_and_foreign_tables_give_nothing() -> None:
    said = "Just words about the amount: not much."
    assert looked_up(said, HOURLY, name="a.txt") == Lookup((), 0, 1, (), (("a.txt", said),))
    foreign = looked_up([{"k": "a", "t": "Another thing"}, {"k": "b", "t": "One more"}], HOURLY)
    assert foreign.entries == ()
    assert foreign.prose
    assert "2 name nothing in this definition" in foreign.warnings[0].text


def test_a_reference_that_takes_too_long_is_left_to_the_digest() -> None:
    text = json.dumps([{"key": "amount", "text": "Rain of an hour."}])
    found = lookup([("slow.json", text)], [HOURLY], timeout=timedelta(milliseconds=1))
    assert (found.entries, found.found, found.prose) == ((), 0, (("slow.json", text),))
    assert [(one.code, one.text) for one in found.warnings] == [
        (WARNING, "slow.json: not looked up, it took longer than 0.001 s. Give a smaller table.")
    ]


def test_hostile_markup_takes_no_time() -> None:
    cells = "|".join(["*a " * 50_000, "[x](" * 50_000, "<a " * 50_000, "`x" * 50_000])
    found = looked_up(f"|a|b|c|d|\n|---|---|---|---|\n|{cells}|\n", HOURLY, name="ref.md")
    assert "not looked up" not in found.warnings[0].text


def test_an_entry_knows_where_it_holds() -> None:
    scoped = GlossaryEntry(key="a", kind="field", meaning="x y", endpoints=("GET /a",), source="lookup")
    assert scoped.holds_at("GET /a")
    assert not scoped.holds_at("GET /b")
    assert scoped.model_copy(update={"endpoints": ()}).holds_at("GET /b")
