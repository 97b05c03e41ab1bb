"""Which operations are asked together (E15 to E18).

Groups of a few operations are halved until each prompt fits its budget of characters and its answer the longest
completion (D2). Only operations are parted; a single one that does not fit was cut by field limits before.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from actors.enrichment.asking import AskedOperation, Operations, halves

#: Measured over real definitions: the JSON of one field's name and description.
TOKENS_PER_FIELD = 41

#: Size of the prompt that asks these operations, in characters.
Measure = Callable[[Operations], int]


@dataclass(frozen=True)
class Budget:
    """What a chunk may take: operations at first, characters of its whole prompt, tokens of its answer."""

    operations: int
    prompt_characters: int
    completion_tokens: int


@dataclass(frozen=True)
class Chunk:
    """One planned chunk: one item of the run, however often it has to be split later (E2)."""

    id: str
    operations: Operations

    @property
    def label(self) -> str:
        """For a progress bar: `chunk 15: GET /x, GET /y`."""
        names = ", ".join(f"{asked.operation.method.upper()} {asked.operation.path}" for asked in self.operations)
        return f"chunk {self.id.removeprefix('c')}: {names}"


def completion_tokens(operations: Sequence[AskedOperation]) -> int:
    """An estimate of the answer's length; an endpoint's name is counted like a field (D2)."""
    return TOKENS_PER_FIELD * sum(asked.size for asked in operations)


def plan(operations: Sequence[AskedOperation], measure: Measure, budget: Budget) -> tuple[Chunk, ...]:
    """Every operation in exactly one chunk, in the definition's order (E15)."""
    parts = [
        part
        for start in range(0, len(operations), budget.operations)
        for part in _parts(tuple(operations[start : start + budget.operations]), measure, budget)
    ]
    return tuple(Chunk(f"c{number}", part) for number, part in enumerate(parts, 1))


def truncate(operation: AskedOperation, measure: Measure, budget: Budget) -> AskedOperation:
    """An operation that fits a prompt alone: whole if it does, else with as many fields as fit, the same number of
    inputs and of each status (E16).

    One field is the least: a prompt that still does not fit is sent as it is.
    """
    if measure((operation,)) <= budget.prompt_characters:
        return operation
    ranked = _ranked(operation)
    fits, beyond = min(1, len(ranked)), max(len(ranked), 1)
    while beyond - fits > 1:
        middle = (fits + beyond) // 2
        if measure((_first(operation, ranked, middle),)) <= budget.prompt_characters:
            fits = middle
        else:
            beyond = middle
    return _first(operation, ranked, fits)


def _parts(group: Operations, measure: Measure, budget: Budget) -> Iterator[Operations]:
    """The group itself if it fits or is a single operation, else the parts of its halves."""
    fits = measure(group) <= budget.prompt_characters and completion_tokens(group) <= budget.completion_tokens
    parted = None if fits or len(group) == 1 else halves(group)
    if parted is None:
        yield group
    else:
        for half in parted:
            yield from _parts(half, measure, budget)


def _ranked(asked: AskedOperation) -> list[str]:
    """Field keys, one of each group in turn: inputs, and outputs by status."""
    places: dict[str, int] = {}
    ranks: dict[str, int] = {}
    for one in asked.fields:
        group = f"{one.field.direction} {one.field.status}"
        places[group] = places.get(group, 0) + 1
        ranks[one.field.key] = places[group]
    return sorted(ranks, key=ranks.__getitem__)


def _first(asked: AskedOperation, ranked: Sequence[str], limit: int) -> AskedOperation:
    return asked.having(frozenset(ranked[:limit]), name=asked.name)
