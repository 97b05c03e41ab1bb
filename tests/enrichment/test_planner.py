"""The planner's rules over any definition: nothing is lost, nothing is asked twice, budgets hold (E15 to E17, D2)."""

from hypothesis import given
from hypothesis import strategies as st

from actors.enrichment.asking import AskedOperation, Operations, halves
from actors.enrichment.planner import TOKENS_PER_FIELD, Budget, completion_tokens, plan
from tests.enrichment.making import asked, field, operation, query

OVERHEAD = 100
CHARACTERS_PER_THING = 10


def measure(operations: Operations) -> int:
    return OVERHEAD + CHARACTERS_PER_THING * sum(one.size for one in operations)


@st.composite
def operations(draw: st.DrawFn) -> Operations:
    sizes = draw(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12))
    return tuple(
        asked(
            operation(
                f"/{number}",
                *(query(f"q{place}") for place in range(inputs)),
                *(field(f"r{place}", status=str(200 + place % 2)) for place in range(outputs)),
            )
        )
        for number, (inputs, outputs) in enumerate(sizes)
    )


budgets = st.builds(
    Budget,
    operations=st.integers(1, 5),
    prompt_characters=st.integers(50, 1000),
    completion_tokens=st.integers(TOKENS_PER_FIELD, 60 * TOKENS_PER_FIELD),
)


def keys(part: Operations) -> list[str]:
    return [one.operation.key for one in part]


@given(operations(), budgets)
def test_every_operation_is_in_exactly_one_chunk_in_its_order(whole: Operations, budget: Budget) -> None:
    planned = plan(whole, measure, OVERHEAD, budget)
    assert [key for chunk in planned.chunks for key in keys(chunk.operations)] == keys(whole)
    assert [chunk.id for chunk in planned.chunks] == [f"c{number}" for number in range(1, len(planned.chunks) + 1)]


@given(operations(), budgets)
def test_budgets_hold_or_the_part_can_not_be_made_smaller(whole: Operations, budget: Budget) -> None:
    for chunk in plan(whole, measure, OVERHEAD, budget).chunks:
        assert len(chunk.operations) <= budget.operations
        if len(chunk.operations) > 1:
            assert measure(chunk.operations) <= budget.prompt_characters
            assert completion_tokens(chunk.operations) <= budget.completion_tokens
        elif OVERHEAD < budget.prompt_characters < measure(chunk.operations):
            [only] = chunk.operations
            assert len(only.fields) <= 1


@given(operations(), budgets)
def test_fields_are_cut_only_where_nothing_else_helps_and_are_named(whole: Operations, budget: Budget) -> None:
    planned = plan(whole, measure, OVERHEAD, budget)
    now = [thing for chunk in planned.chunks for thing in things(chunk.operations)]
    cut = [f"{operation} {field}" for operation, field in planned.truncated]
    assert sorted(now + cut) == sorted(things(whole))
    for chunk in planned.chunks:
        if {one.operation.key for one in chunk.operations} & {operation for operation, _ in planned.truncated}:
            assert len(chunk.operations) == 1


@given(operations(), budgets)
def test_an_overhead_that_fills_the_budget_blames_no_field(whole: Operations, budget: Budget) -> None:
    planned = plan(whole, measure, budget.prompt_characters, budget)
    assert planned.crowded == bool(whole)
    assert not planned.truncated
    assert not plan(whole, measure, budget.prompt_characters - 1, budget).crowded


@given(operations(), budgets)
def test_the_same_question_gives_the_same_plan(whole: Operations, budget: Budget) -> None:
    assert plan(whole, measure, OVERHEAD, budget) == plan(whole, measure, OVERHEAD, budget)


@given(operations().filter(bool))
def test_halves_ask_the_same_and_are_smaller(whole: Operations) -> None:
    parted = halves(whole)
    if parted is None:
        assert sum(one.size for one in whole) <= 1
        return
    assert sorted(things(parted[0]) + things(parted[1])) == sorted(things(whole))
    assert all(0 < len(things(half)) < len(things(whole)) for half in parted)


def things(part: tuple[AskedOperation, ...]) -> list[str]:
    names = [one.operation.key for one in part if one.name]
    return names + [f"{one.operation.key} {asked_field.field.key}" for one in part for asked_field in one.fields]
