"""What a finished pass leaves behind, so that it is never paid for again (E29, E30, D5).

A checkpoint is known by its content: the pass kind, its operations, and a hash of model, prompt and answer schema. A
changed plan, prompt or model therefore can't replay the wrong answer; it finds none and asks.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from actors.enrichment.questions import Answer, Answered, GivenUp, Question, TooLarge
from base import logs
from clients.llm.model import Ask
from schema.enrichment.passes import Kind

_log = logs.get(__name__)


class Checkpoint(BaseModel):
    """The end of one pass: an accepted answer, or the keys of the passes it was split into, or why it gave none that
    can be used (kept only where the rest of the run is built on that: `digest: none`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    answer: dict[str, Any] | None = None
    split_into: tuple[str, ...] | None = None
    #: Split although nothing at all was said.
    silent: bool = False
    unusable: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The form it is stored in."""
        return self.model_dump(mode="json", exclude_none=True, exclude_defaults=True)


def checkpoint_of(
    question: Question[Answer], ended: Answered[Answer] | TooLarge | GivenUp, key: Callable[[Question[Answer]], str]
) -> Checkpoint | None:
    """What the end of a pass leaves to a resumed run; None: it asks again. `key` makes pass keys."""
    match ended:
        case Answered():
            return Checkpoint(answer=ended.answer.model_dump(mode="json", exclude_defaults=True))
        case TooLarge(silent) if parts := question.parts():
            return Checkpoint(split_into=tuple(key(part) for part in parts), silent=silent)
        case TooLarge() | GivenUp() if question.keeps_failure:
            return Checkpoint(unusable=ended.why)
    return None


def pass_key(kind: Kind, operations: Sequence[str], provider: str, model: str, ask: Ask) -> str:
    """The identity of a pass in its run: equal for equal questions to the same model, and for no others (D5)."""
    asked = [
        kind,
        operations,
        provider,
        model,
        [[message.role, message.content] for message in ask.messages],
        ask.schema_name,
        ask.schema,
    ]
    return f"{kind}:{hashlib.sha256(orjson.dumps(asked)).hexdigest()}"


class Checkpoints:
    """The checkpoints of a run as its claim found them."""

    def __init__(self, stored: Mapping[str, Any]) -> None:
        self._stored = dict(stored)

    def __contains__(self, key: str) -> bool:
        return key in self._stored

    def recall(self, key: str) -> Checkpoint | None:
        """The checkpoint of a pass, if it can be read back; one that can't means that its pass runs again (E30)."""
        stored = self._stored.get(key)
        if stored is None:
            return None
        try:
            return Checkpoint.model_validate(stored)
        except ValidationError:
            _log.warning("checkpoint_unreadable", pass_key=key)
            return None
