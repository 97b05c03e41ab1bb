"""What a pass asks, and the three ways it can end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

from base.errors import Permanent
from clients.llm.model import Ask
from schema.enrichment.passes import Kind

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True)
class Question(Generic[Answer]):
    """What a pass asks: `operations` are the keys of those it is about."""

    kind: Kind
    chunk_id: str | None
    operations: tuple[str, ...]
    ask: Ask
    answer: type[Answer]
    #: Makes an answer of a text, or raises InvalidAnswer.
    read: Callable[[str], Answer]
    #: What an answer suggests, by target.
    count: Callable[[Answer], Mapping[str, int]]
    #: The smaller questions that ask the same; none where it can't be made smaller.
    parts: Callable[[], Sequence["Question[Answer]"]] = tuple
    #: The rest of the run is built on this pass having no answer: that is kept too (D5, `digest: none`).
    keeps_failure: bool = False


@dataclass(frozen=True)
class Answered(Generic[Answer]):
    """The question was answered, now or by an earlier claim of the run."""

    pass_key: str
    answer: Answer


@dataclass(frozen=True)
class TooLarge:
    """Prompt or answer was cut off by a limit: ask the question's parts. `silent`: nothing at all was said."""

    silent: bool = False

    @property
    def why(self) -> str:
        """What became of a question that has no parts."""
        return (
            "The prompt or its answer is too long for this model: raise LONGHAUL_LLM__MAX_COMPLETION_TOKENS, or take "
            "a model with a larger context."
        )


@dataclass(frozen=True)
class GivenUp:
    """No answer will come; a sentence says why. `unreached`: not even the model's API was met."""

    why: str
    unreached: bool = False


class ModelLost(Permanent):
    """No prompt of this run will be answered until somebody acts: nothing more is asked (D3)."""


class TokensSpent(Exception):
    """The run's token limit is reached: no new pass begins (D16)."""
