"""The planner's rules over any definition: nothing is lost, nothing is asked twice, budgets hold (E15 to E17, D2)."""

from hypothesis import given
from hypothesis import strategies as st

from actors.enrichment.asking import AskedOperation, Operations, halves
from actors.enrichment.planner import TOKENS_PER_FIELD, Budget, completion_tokens, plan, truncate
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
    chunks = plan(whole, measure, budget)
    assert [key for chunk in chunks for key in keys(chunk.operations)] == keys(whole)
    assert [thing for chunk in chunks for one in chunk.operations for thing in things((one,))] == [
        thing for one in whole for thing in things((one,))
    ]
    assert [chunk.id for chunk in chunks] == [f"c{number}" for number in range(1, len(chunks) + 1)]


@given(operations(), budgets)
def test_budgets_hold_or_the_part_can_not_be_parted_further(whole: Operations, budget: Budget) -> None:
    for chunk in plan(whole, measure, budget):
        assert len(chunk.operations) <= budget.operations
        if len(chunk.operations) > 1:
            assert measure(chunk.operations) <= budget.prompt_characters
            assert completion_tokens(chunk.operations) <= budget.completion_tokens


@given(operations(), budgets)
def test_the_same_question_gives_the_same_plan(whole: Operations, budget: Budget) -> None:
    assert plan(whole, measure, budget) == plan(whole, measure, budget)


@given(operations(), budgets)
def test_an_operation_is_cut_as_far_as_it_must_and_no_further(whole: Operations, budget: Budget) -> None:
    for one in whole:
        kept = truncate(one, measure, budget)
        assert kept.operation == one.operation
        assert set(things((kept,))) <= set(things((one,)))
        if kept == one:
            assert measure((one,)) <= budget.prompt_characters or len(one.fields) <= 1
            continue
        assert measure((kept,)) <= budget.prompt_characters or len(kept.fields) == 1
        assert measure((kept,)) + CHARACTERS_PER_THING > budget.prompt_characters, "one more would have fitted"


@given(operations(), budgets)
def test_a_cut_takes_from_inputs_and_each_status_alike(whole: Operations, budget: Budget) -> None:
    for one in whole:
        kept = truncate(one, measure, budget)
        if kept == one:
            continue
        groups = {"": (one.inputs, kept.inputs)}
        for status in ("200", "201"):
            groups[status] = tuple(  # type: ignore[assignment]
                tuple(field for field in asked.outputs if field.field.status == status) for asked in (one, kept)
            )
        cut = [len(now) for before, now in groups.values() if len(now) < len(before)]
        whole_ones = [len(now) for before, now in groups.values() if len(now) == len(before)]
        assert max(cut) - min(cut) <= 1
        assert all(size <= min(cut) + 1 for size in whole_ones), "the last round may end in the middle"


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
