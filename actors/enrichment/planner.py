"""Which operations are asked together (E15 to E18).

Groups of a few operations are halved until each prompt fits its budget of characters and its answer the longest
completion (D2). Only operations are parted here; what can't be parted further is cut by field limits.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from actors.enrichment.asking import AskedOperation, Operations, Place, halves

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


@dataclass(frozen=True)
class Chunks:
    """All chunks in plan order, the fields that had to be cut to make them fit, and whether no cut could (E16)."""

    chunks: tuple[Chunk, ...]
    truncated: frozenset[Place]
    crowded: bool


def completion_tokens(operations: Sequence[AskedOperation]) -> int:
    """An estimate of the answer's length; an endpoint's name is counted like a field (D2)."""
    return TOKENS_PER_FIELD * sum(asked.size for asked in operations)


def plan(operations: Sequence[AskedOperation], measure: Measure, overhead: int, budget: Budget) -> Chunks:
    """Every operation in exactly one chunk, in the definition's order.

    `overhead` is the prompt without operations: where it alone fills the budget, no field is cut for it (E16).
    """
    crowded = overhead >= budget.prompt_characters
    chunks: list[Operations] = []
    truncated: set[Place] = set()
    for start in range(0, len(operations), budget.operations):
        for part in _parts(tuple(operations[start : start + budget.operations]), measure, budget):
            kept = part if crowded or measure(part) <= budget.prompt_characters else _cut(part, measure, budget)
            chunks.append(kept)
            truncated |= _places(part) - _places(kept)
    numbered = tuple(Chunk(f"c{number}", part) for number, part in enumerate(chunks, 1))
    return Chunks(numbered, frozenset(truncated), crowded=crowded and bool(chunks))


def _parts(group: Operations, measure: Measure, budget: Budget) -> Iterator[Operations]:
    """The group itself if it fits or is a single operation, else the parts of its halves."""
    fits = measure(group) <= budget.prompt_characters and completion_tokens(group) <= budget.completion_tokens
    parted = None if fits or len(group) == 1 else halves(group)
    if parted is None:
        yield group
    else:
        for half in parted:
            yield from _parts(half, measure, budget)


def _cut(part: Operations, measure: Measure, budget: Budget) -> Operations:
    """The one operation with as many fields as fit: what the glossary knows first, and of the rest the same limit for
    inputs and for each status.

    One field is the least: a prompt that still does not fit is sent as it is.
    """
    [operation] = part
    ranked = _ranked(operation)
    fits, beyond = min(1, len(ranked)), max(len(ranked), 1)
    while beyond - fits > 1:
        middle = (fits + beyond) // 2
        if measure((_first(operation, ranked, middle),)) <= budget.prompt_characters:
            fits = middle
        else:
            beyond = middle
    return (_first(operation, ranked, fits),)


def _ranked(asked: AskedOperation) -> list[str]:
    """Field keys, known ones first, else one of each group in turn: inputs, and outputs by status."""
    places: dict[str, int] = {}
    ranks: dict[str, tuple[bool, int]] = {}
    for one in asked.fields:
        group = f"{one.field.direction} {one.field.status} {one.known}"
        places[group] = places.get(group, 0) + 1
        ranks[one.field.key] = not one.known, places[group]
    return sorted(ranks, key=ranks.__getitem__)


def _first(asked: AskedOperation, ranked: Sequence[str], limit: int) -> AskedOperation:
    return asked.having(frozenset(ranked[:limit]), name=asked.name)


def _places(part: Operations) -> set[Place]:
    return {(asked.operation.key, one.field.key) for asked in part for one in asked.fields}
