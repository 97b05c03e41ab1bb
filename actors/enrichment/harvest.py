"""What the items of a run brought, and what they did not: a failure is one thing, a question never asked another."""

from dataclasses import dataclass, field

from actors.enrichment.answers import MappingAnswer
from actors.enrichment.chunks import ChunkOutcome
from actors.enrichment.planner import Chunk
from actors.enrichment.questions import ModelLost


@dataclass
class Harvest:
    """What the items brought; chunks in plan order whatever the order of time."""

    overview: tuple[str, MappingAnswer] | None = None
    #: Why items failed, by their labels.
    failures: dict[str, str] = field(default_factory=dict)
    chunks: dict[str, ChunkOutcome] = field(default_factory=dict)
    #: Items that the token limit kept from being asked, or from being asked to their end (D16).
    stopped: int = 0
    #: Why the model could not be asked any more, if it came to that (D3).
    lost: ModelLost | None = None

    @property
    def unanswered(self) -> int:
        """Things that were asked and twice not answered (D7)."""
        return sum(chunk.unanswered for chunk in self.chunks.values())

    @property
    def is_whole(self) -> bool:
        """Whether every item ended well."""
        return not self.failures and not self.stopped and self.lost is None

    def answered(self) -> bool:
        """Whether any chunk brought anything at all."""
        return any(chunk.answers for chunk in self.chunks.values())

    def missing(self, planned: tuple[Chunk, ...]) -> "Missing":
        """What these chunks were to bring and neither answered nor left unanswered."""
        failed = stopped = 0
        for chunk in planned:
            if chunk.label in self.failures:
                failed += self._open(chunk)
            else:
                stopped += self._open(chunk)
        return Missing(failed, stopped)

    def _open(self, chunk: Chunk) -> int:
        brought, rest = self.chunks[chunk.id], chunk.operations
        for _, answer in brought.answers:
            rest = answer.unanswered(rest)
        return sum(asked.size for asked in rest) - brought.unanswered


@dataclass(frozen=True)
class Missing:
    """Things without an answer: those of items that failed, and those not asked because the run stopped before."""

    failed: int
    stopped: int
