"""One chunk asked to its end: as a whole, in parts where it is too large, and what was left unanswered once more
(E23, D2, D7). However often it is split it stays one item of the run.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from actors.enrichment import answers
from actors.enrichment.answers import ChunkAnswer, NameGate
from actors.enrichment.asking import AskedOperation, Operations, field_targets, halves
from actors.enrichment.glossary import Glossary
from actors.enrichment.passes import Passes
from actors.enrichment.planner import Chunk, completion_tokens
from actors.enrichment.prompts import Prompts
from actors.enrichment.questions import Answered, GivenUp, Question, TooLarge


@dataclass(frozen=True)
class Part:
    """A chunk, or a part of one. `again`: it asks what an earlier answer left out, and is asked only once."""

    id: str
    operations: Operations
    with_mapping: bool = False
    again: bool = False
    after_silence: bool = False

    def halved(self, *, after_silence: bool) -> tuple["Part", ...]:
        """The two parts that ask the same; none where it can't be made smaller."""
        parted = halves(self.operations)
        if parted is None:
            return ()
        return tuple(
            replace(
                self,
                id=f"{self.id}.{number}",
                operations=half,
                with_mapping=self.with_mapping and number == 1,
                after_silence=after_silence,
            )
            for number, half in enumerate(parted, 1)
        )


@dataclass
class ChunkOutcome:
    """What a chunk brought, in the order of its parts; with failures it counts as a failed item."""

    answers: list[tuple[str, ChunkAnswer]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    unanswered: int = 0

    @property
    def was_answered(self) -> bool:
        """Whether all its parts were."""
        return not self.failures


class ChunkAsker:
    """Asks chunks of one run."""

    def __init__(
        self, passes: Passes, prompts: Prompts, glossary: Glossary, is_no_name: NameGate, max_completion_tokens: int
    ) -> None:
        self._passes = passes
        self._prompts = prompts
        self._glossary = glossary
        self._is_no_name = is_no_name
        self._max_completion_tokens = max_completion_tokens

    async def ask(self, chunk: Chunk, outcome: ChunkOutcome, *, with_mapping: bool = False) -> None:
        """Fill in the outcome of a chunk; what it holds when a stop or the token brake interrupts is good.

        Raises:
            TokensSpent, ModelLost: as of `Passes.ask`.
        """
        await self._ask(Part(chunk.id, chunk.operations, with_mapping), outcome)

    async def _ask(self, part: Part, outcome: ChunkOutcome) -> None:
        if completion_tokens(part.operations) > self._max_completion_tokens and (
            parts := part.halved(after_silence=False)
        ):
            for smaller in parts:  # its answer could not be whole: that call is saved (D2)
                await self._ask(smaller, outcome)
            return
        match await self._passes.ask(self._question(part)):
            case Answered(pass_key, answer):
                outcome.answers.append((pass_key, answer))
                await self._ask_again(part, answer.unanswered(part.operations), outcome)
            case TooLarge(silent):
                # A model that twice spends a whole answer on saying nothing would go on like that to the last field.
                parts = () if silent and part.after_silence else part.halved(after_silence=silent)
                if not parts:
                    self._give_up(part, _TOO_LARGE, outcome)
                for smaller in parts:
                    await self._ask(smaller, outcome)
            case GivenUp(why):
                self._give_up(part, why, outcome)

    async def _ask_again(self, part: Part, rest: Operations, outcome: ChunkOutcome) -> None:
        """Ask what was left out once more, in something smaller than before (D7)."""
        missing = _things(rest)
        if not missing:
            return
        left_out = Part(f"{part.id}+", rest, again=True)
        if part.again:
            smaller: tuple[Part, ...] = ()
        elif missing < _things(part.operations):
            smaller = (left_out,)
        else:
            smaller = left_out.halved(after_silence=False)
        if not smaller:
            outcome.unanswered += missing
        for one in smaller:
            await self._ask(one, outcome)

    def _give_up(self, part: Part, why: str, outcome: ChunkOutcome) -> None:
        """A second question that fails leaves its fields unanswered; the chunk itself was answered."""
        if part.again:
            outcome.unanswered += _things(part.operations)
        else:
            outcome.failures.append(why)

    def _question(self, part: Part) -> Question[ChunkAnswer]:
        operations = part.operations
        return Question(
            kind="chunk",
            chunk_id=part.id,
            operations=tuple(asked.operation.key for asked in operations),
            ask=self._prompts.chunk(operations, self._glossary.slice(operations), with_mapping=part.with_mapping),
            answer=ChunkAnswer,
            read=lambda text: answers.read_chunk(text, operations, self._is_no_name, with_mapping=part.with_mapping),
            count=_counts(operations),
            parts=lambda: [self._question(half) for half in part.halved(after_silence=False)],
        )


_TOO_LARGE = (
    "The model's answer was cut at its token limit and can't be asked in smaller parts. "
    "Raise LONGHAUL_LLM__MAX_COMPLETION_TOKENS, or take a model with a larger context."
)


def _things(operations: Sequence[AskedOperation]) -> int:
    return sum(asked.size for asked in operations)


def _counts(operations: Operations) -> Callable[[ChunkAnswer], Mapping[str, int]]:
    """How many texts an answer suggests, by target."""
    fields = {(asked.operation.key, one.field.key): one.field for asked in operations for one in asked.fields}

    def targets(answer: ChunkAnswer) -> Iterator[str]:
        for key, said in answer.operations.items():
            if said.name:
                yield "endpoint_names"
            for field_key, texts in said.fields.items():
                name, description = field_targets(fields[key, field_key])
                if texts.name:
                    yield name
                if texts.description:
                    yield description

    def count(answer: ChunkAnswer) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for target in targets(answer):
            found[target] = found.get(target, 0) + 1
        return found

    return count
