"""The plan as a whole: what finds no room in one operation is offered to the next, the rest is counted (E16, E17)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.enrichment import planning
from actors.enrichment.asking import Wishes, wanted
from actors.enrichment.glossary import Glossary
from actors.enrichment.plan import Plan
from actors.enrichment.planning import brief
from actors.enrichment.prompts import Manner, Prompts
from base.settings import SemanticEnrichment, Settings
from schema.enrichment.content import from_inventory
from schema.enrichment.inventory import Inventory
from schema.enrichment.payloads import TARGETS
from tests.enrichment.making import field, inventory, operation, query


def planned(api: Inventory, reference: str = "", **enrichment: int) -> Plan:
    settings = Settings(semantic_enrichment=SemanticEnrichment(**enrichment))
    told = brief(api, TARGETS, instructions="", reference=reference, language=None, settings=settings)
    asked = wanted(api, from_inventory(api), Wishes(frozenset(TARGETS)), Glossary())
    return planning.make(asked, Prompts(told, Manner(8192, None)), Glossary(), settings, mapping=True)


def tokens(plan: Plan) -> list[str]:
    return [one.field.token for chunk in plan.chunks for asked in chunk.operations for one in asked.fields]


def shared(operations: int, fields: int) -> Inventory:
    """Every operation answers with the same schema."""
    return inventory(
        *(operation(f"/{n}", *(field(f"r{m}", schema="Pet") for m in range(fields))) for n in range(operations))
    )


def test_what_is_beyond_the_cap_of_one_operation_is_asked_in_the_next() -> None:
    plan = planned(shared(3, 5), max_fields_per_response_status=2)
    assert tokens(plan) == ["r0", "r1", "r2", "r3", "r4"]
    assert (plan.not_asked, plan.warnings) == (0, ())


def test_what_finds_room_nowhere_is_counted() -> None:
    plan = planned(shared(2, 7), max_fields_per_response_status=3)
    assert tokens(plan) == [f"r{n}" for n in range(6)]
    assert plan.not_asked == 1
    [warning] = plan.warnings
    assert warning.code == "fields_not_asked"
    assert warning.text.startswith("1 fields")


def test_what_the_prompt_budget_cuts_is_asked_in_the_next_operation_too() -> None:
    long = "x" * 300
    api = inventory(
        *(operation(f"/{n}", *(field(f"r{m}", schema="Pet", description=long) for m in range(10))) for n in range(3))
    )
    told = brief(api, TARGETS, instructions="", reference="", language=None, settings=Settings())
    overhead = Prompts(told, Manner(8192, None)).overhead
    plan = planned(api, max_prompt_characters=overhead + 2500)
    assert sorted(tokens(plan)) == sorted(f"r{m}" for m in range(10))
    assert (plan.not_asked, plan.warnings) == (0, ())


def test_a_reference_that_fills_every_prompt_is_named_and_no_field_is_cut() -> None:
    plan = planned(shared(2, 5), reference="words " * 5000)
    assert [warning.code for warning in plan.warnings] == ["reference_context_exceeds_budget"]
    assert len(tokens(plan)) == 5
    assert [len(chunk.operations) for chunk in plan.chunks] == [1, 1]


def test_an_operation_that_does_not_fit_alone_is_named_with_what_was_cut_of_it() -> None:
    fields = [field(f"r{m}", description="x" * 300) for m in range(10)]
    api = inventory(operation("/wide", *fields), operation("/narrow", field("only")))
    told = brief(api, TARGETS, instructions="", reference="", language=None, settings=Settings())
    plan = planned(api, max_prompt_characters=Prompts(told, Manner(8192, None)).overhead + 2500)
    [warning] = plan.warnings
    assert warning.code == "operation_fields_truncated"
    assert f"GET /wide ({plan.not_asked})" in warning.text
    assert "/narrow" not in warning.text
    assert 0 < plan.not_asked < 10
    assert len(tokens(plan)) + plan.not_asked == 11


@given(st.integers(1, 4), st.integers(1, 30), st.integers(1, 8), st.integers(2500, 9000))
def test_every_field_is_asked_or_counted(operations: int, fields: int, cap: int, budget: int) -> None:
    api = inventory(
        *(
            operation(f"/{n}", *(query(f"q{m}") for m in range(fields)), *(field(f"r{m}") for m in range(fields)))
            for n in range(operations)
        )
    )
    plan = planned(
        api, max_fields_per_request_body=cap, max_fields_per_response_status=cap, max_prompt_characters=budget
    )
    assert len(tokens(plan)) + plan.not_asked == 2 * fields * operations
    assert bool(plan.not_asked) == bool(
        [warning for warning in plan.warnings if warning.code != "reference_context_exceeds_budget"]
    )


@pytest.mark.parametrize(("separate", "overview", "items"), [(True, True, 2), (False, False, 1)])
def test_the_overview_is_an_item_of_its_own_or_rides_along(separate: bool, overview: bool, items: int) -> None:
    plan = planned(shared(1, 1), separate_mapping_metadata_pass=separate)
    assert (plan.overview, plan.items) == (overview, items)
