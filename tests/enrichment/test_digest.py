"""What the references bring before anything is planned: E12, D13."""

from actors.enrichment.digest import digest_input, look_up, within
from schema.enrichment.glossary import GlossaryEntry
from schema.enrichment.payloads import ReferenceText
from tests.enrichment.making import field, operation, query

OPERATIONS = (
    operation("/a", query("p_st"), field("CwpName"), field("CwpName", status="404")),
    operation("/b", field("Zed")),
)
TABLE = ReferenceText(name="dictionary.csv", text="Field,Description\nCwpName,Who holds the permit.\np_st,State.\n")
PROSE = ReferenceText(name="notes.txt", text="Zed is the last one.")


def entry(key: str, meaning: str) -> GlossaryEntry:
    return GlossaryEntry(key=key, kind="field", meaning=meaning, source="digest")


def test_tables_are_looked_up_and_prose_is_left_to_the_digest() -> None:
    looked = look_up((TABLE, PROSE), OPERATIONS, enabled=True)
    assert {one.key for one in looked.entries} == {"CwpName", "p_st"}
    assert looked.prose == (("notes.txt", "Zed is the last one."),)
    assert [warning.code for warning in looked.warnings] == ["reference_lookup"]


def test_without_lookup_everything_is_left_to_the_digest() -> None:
    looked = look_up((TABLE, PROSE), OPERATIONS, enabled=False)
    assert looked.entries == ()
    assert [name for name, _ in looked.prose] == ["dictionary.csv", "notes.txt"]


def test_references_are_joined_in_order_under_their_names_and_cut_with_a_warning() -> None:
    tokens, text, warnings = digest_input((("a.txt", "first"), ("b.txt", "second")), OPERATIONS, 1000)
    assert [(one.path, names) for one, names in tokens] == [("/a", ("p_st", "CwpName")), ("/b", ("Zed",))]
    assert text.index("a.txt") < text.index("first") < text.index("b.txt") < text.index("second")
    assert warnings == ()
    _, text, warnings = digest_input((("a.txt", "x" * 2000),), OPERATIONS, 1000)
    assert len(text) == 1000
    assert [warning.code for warning in warnings] == ["reference_truncated"]


def test_an_inventory_that_is_too_long_keeps_what_the_reference_names() -> None:
    many = tuple(operation(f"/{n}", *(field(f"f{n}_{m}") for m in range(20))) for n in range(10))
    tokens, _, warnings = digest_input((("a.txt", "f3_7 and F9_1"),), many, 500)
    assert [names for _, names in tokens if names] == [("f3_7",), ("f9_1",)]
    assert [warning.code for warning in warnings] == ["inventory_truncated"]


def test_a_glossary_is_cut_at_an_entry() -> None:
    entries = [entry("a", "x" * 9), entry("b", "x" * 9), entry("c", "x")]
    assert within(entries, 20) == (tuple(entries[:2]), 1)
    assert within(entries, 22) == (tuple(entries), 0)
    assert within([], 1) == ((), 0)
