"""What a run asks for: E9, E11, E17, D7, D10, D14."""

from collections.abc import Hashable

from hypothesis import given
from hypothesis import strategies as st

from actors.enrichment import asking
from actors.enrichment.asking import AskedOperation, Caps, Thing, Wishes, choose, things, wanted
from actors.enrichment.glossary import Glossary
from schema.enrichment.content import MappingContent, Text, from_inventory
from schema.enrichment.glossary import GlossaryEntry
from schema.enrichment.inventory import Field, Inventory, Operation
from schema.enrichment.payloads import TARGETS, Target
from tests.enrichment.making import asked, field, inventory, operation, query

API = inventory(
    operation("/a", query("p_st", description="State"), field("CWPName"), summary="List a"),
    operation("/b", field("CWPName", title="Name", description="Its name")),
)


def wish(*targets: Target, only_missing: bool = False, selected: frozenset[str] | None = None) -> Wishes:
    return Wishes(frozenset(targets or TARGETS), only_missing, selected)


def ask(
    wishes: Wishes, *, api: Inventory = API, content: MappingContent | None = None, user: Glossary | None = None
) -> list[tuple[str, str, bool, bool]]:
    found = wanted(api, content or from_inventory(api), wishes, user or Glossary())
    names = [(one.operation.path, "", one.name, False) for one in found if one.name]
    return names + [
        (one.operation.path, item.field.token, item.name, item.description) for one in found for item in one.fields
    ]


def test_without_narrowing_everything_is_asked() -> None:
    assert ask(wish()) == [
        ("/a", "", True, False),
        ("/b", "", True, False),
        ("/a", "p_st", True, True),
        ("/a", "CWPName", True, True),
        ("/b", "CWPName", True, True),
    ]


def test_targets_narrow_to_texts_and_directions() -> None:
    assert ask(wish("input_field_names", "output_field_descriptions")) == [
        ("/a", "p_st", True, False),
        ("/a", "CWPName", False, True),
        ("/b", "CWPName", False, True),
    ]


def test_only_missing_asks_what_has_no_text() -> None:
    assert ask(wish(only_missing=True)) == [
        ("/b", "", True, False),
        ("/a", "p_st", True, False),
        ("/a", "CWPName", True, True),
    ]


def test_unselected_endpoints_are_not_asked() -> None:
    assert {path for path, *_ in ask(wish(selected=frozenset({"GET::/b::"})))} == {"/b"}


def test_what_a_person_wrote_is_never_asked() -> None:
    content = from_inventory(API)
    first = content.endpoints[0]
    person = Text(value="Facility", origin="person")
    kept = first.model_copy(update={"name": person, "outputs": (first.outputs[0].model_copy(update={"name": person}),)})
    content = content.model_copy(update={"endpoints": (kept, *content.endpoints[1:])})
    found = ask(wish(), content=content)
    assert ("/a", "", True, False) not in found
    assert ("/a", "CWPName", False, True) in found


def test_what_the_users_glossary_says_is_settled() -> None:
    user = Glossary([GlossaryEntry(key="cwpname", kind="field", name="Permit Holder", meaning="", source="user")])
    assert ("/a", "CWPName", False, True) in ask(wish(), user=user)


def test_the_mappings_own_texts_are_targets_while_they_are_wanted() -> None:
    content = from_inventory(API)
    assert asking.targets(content, wish()) == TARGETS
    missing = asking.targets(content, wish(only_missing=True))
    assert "mapping_name" not in missing
    assert "mapping_description" in missing


def by_schema(operation: Operation, field: Field) -> Hashable:
    return field.schema_name or operation.key, field.direction, field.token


@st.composite
def crowded(draw: st.DrawFn) -> tuple[AskedOperation, ...]:
    tokens = st.lists(st.integers(0, 15), max_size=12, unique=True)
    schemas = st.sampled_from(["", "Pet", "Owner"])
    return tuple(
        asked(
            operation(
                f"/{number}",
                *(query(f"q{token}") for token in draw(tokens)),
                *(
                    field(f"r{token}", schema=draw(schemas), status=draw(st.sampled_from("23")))
                    for token in draw(tokens)
                ),
            )
        )
        for number in range(draw(st.integers(0, 5)))
    )


def first_two(asked: AskedOperation) -> AskedOperation:
    """A prompt that holds two fields."""
    return asked.having({item.field.key for item in asked.fields[:2]}, name=asked.name)


@given(crowded(), st.integers(1, 6), st.integers(1, 6), st.booleans())
def test_every_thing_is_asked_once_or_counted_as_not_asked(
    whole: tuple[AskedOperation, ...], per_request: int, per_status: int, small: bool
) -> None:
    def texts(part: tuple[AskedOperation, ...]) -> list[Thing]:
        return [thing for one in part for item in one.fields for thing in things(by_schema, one.operation, item)]

    choice = choose(whole, by_schema, Caps(per_request, per_status), fit=first_two if small else lambda asked: asked)
    asked_now = texts(choice.operations)
    assert len(asked_now) == len(set(asked_now))
    assert choice.beyond == set(texts(whole)) - set(asked_now)
    assert all(lost <= choice.beyond for lost in choice.truncated.values())
    assert small or not choice.truncated
    for one in choice.operations:
        assert len(one.inputs) <= per_request
        statuses = [item.field.status for item in one.outputs]
        assert all(statuses.count(status) <= per_status for status in statuses)


def test_what_does_not_fit_one_operation_is_asked_in_a_later_one() -> None:
    whole = tuple(asked(operation(f"/{n}", *(field(f"r{m}", schema="Pet") for m in range(5)))) for n in range(3))
    choice = choose(whole, by_schema, Caps(9, 9), fit=first_two)
    assert [[item.field.token for item in one.fields] for one in choice.operations] == [
        ["r0", "r1"],
        ["r2", "r3"],
        ["r4"],
    ]
    assert (choice.not_asked, choice.truncated) == (0, {})


def test_only_missing_filters_before_the_cap_so_the_next_run_asks_the_next_ones() -> None:
    api = inventory(operation("/a", *(query(f"q{number}") for number in range(5))))
    caps = Caps(3, 3)
    first = choose(wanted(api, from_inventory(api), wish("input_field_names"), Glossary()), by_schema, caps)
    assert [item.field.token for item in first.operations[0].inputs] == ["q0", "q1", "q2"]
    assert first.not_asked == 2
    content = from_inventory(api)
    endpoint = content.endpoints[0]
    named = tuple(
        one.model_copy(update={"name": Text(value="x", origin="model")}) if number < 3 else one
        for number, one in enumerate(endpoint.inputs)
    )
    content = content.model_copy(update={"endpoints": (endpoint.model_copy(update={"inputs": named}),)})
    again = wanted(api, content, wish("input_field_names", only_missing=True), Glossary())
    second = choose(again, by_schema, caps)
    assert [item.field.token for item in second.operations[0].inputs] == ["q3", "q4"]
    assert second.not_asked == 0


def test_a_text_that_is_missing_in_one_place_only_is_asked_there() -> None:
    named, nameless = field("id", schema="Pet", title="Number"), field("id", schema="Pet")
    api = inventory(operation("/a", named), operation("/b", nameless))
    whole = wanted(api, from_inventory(api), wish(only_missing=True), Glossary())
    fields = [
        (one.operation.path, item.name, item.description)
        for one in choose(whole, by_schema, Caps(9, 9)).operations
        for item in one.fields
    ]
    assert fields == [("/a", False, True), ("/b", True, False)]


def test_where_there_is_room_for_some_only_those_that_are_known_go_first() -> None:
    whole = (asked(operation("/a", *(query(f"q{number}") for number in range(5)))),)
    [chosen] = choose(whole, by_schema, Caps(3, 3), is_known=lambda _, one: one.token in {"q1", "q4"}).operations
    assert [item.field.token for item in chosen.inputs] == ["q1", "q4", "q0"]


def test_what_the_inventory_had_to_cut_counts_as_not_asked() -> None:
    whole = (asked(operation("/a", query("q"), cut=7)),)
    assert choose(whole, by_schema, Caps(60, 60)).not_asked == 7
