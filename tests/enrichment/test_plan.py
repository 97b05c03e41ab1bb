"""The plan as it is kept for a resumed run: D5, E30."""

from dataclasses import replace
from typing import Any

import pytest

from actors.enrichment import plan
from actors.enrichment.asking import AskedField
from actors.enrichment.plan import Plan
from actors.enrichment.planner import Chunk
from schema.enrichment.payloads import RunWarning
from tests.enrichment.making import asked, field, operation, query

WANTED = (asked(operation("/a", query("p_st"), field("x"))), asked(operation("/b", field("y")), name=False))
PLAN = Plan(
    overview=True,
    chunks=(Chunk("c1", (WANTED[0].having({"query||p_st"}, name=True),)), Chunk("c2", (WANTED[1],))),
    not_asked=1,
    warnings=(RunWarning(code="x", text="y"),),
)


def test_a_kept_plan_asks_the_same() -> None:
    assert plan.from_json(plan.to_json(PLAN), WANTED) == PLAN
    assert PLAN.items == 3


def test_a_kept_plan_keeps_order_and_which_texts_are_asked() -> None:
    first, second = (
        AskedField(field("x"), name=True, description=False),
        AskedField(field("y"), name=False, description=True),
    )
    whole = operation("/a", field("x"), field("y"))
    planned = replace(asked(whole), outputs=(second, first))
    made = Plan(overview=False, chunks=(Chunk("c1", (planned,)),), not_asked=0, warnings=())
    assert plan.from_json(plan.to_json(made), (asked(whole),)) == made


@pytest.mark.parametrize("stored", [None, {}, {"overview": 3}, {**plan.to_json(PLAN), "new_in_the_next_version": 1}])
def test_what_can_not_be_read_back_is_planned_again(stored: Any) -> None:
    assert plan.from_json(stored, WANTED) is None


def test_a_plan_over_fields_that_are_not_wanted_any_more_is_planned_again() -> None:
    assert plan.from_json(plan.to_json(PLAN), WANTED[:1]) is None
    narrowed = (WANTED[0].having({"response|200|x"}, name=True), WANTED[1])
    assert plan.from_json(plan.to_json(PLAN), narrowed) is None
