"""The model that answers where there is none: identifiers split into words and written out, meanings from the glossary
it is given, nothing invented (D12). The floor every language model is measured against.

It reads an ask's facts and no prose: their `kind` says what is asked, and each function of `_ANSWERS` says what it
reads of them. Who asks keeps to that; a kind it doesn't know gets an empty answer.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from clients.llm import offline_answers, offline_digest
from clients.llm.model import Ask, Completion, Usage

#: Characters of a token, by and large: what is counted is an estimate, and marked as one.
_CHARACTERS_PER_TOKEN = 4

_ANSWERS: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
    "chunk": offline_answers.chunk,
    "overview": offline_answers.overview,
    "digest": offline_digest.digest,
}


class OfflineModel:
    """A `LanguageModel` without a model. Same question, same answer; it never waits, refuses or runs out of tokens."""

    provider = "offline"
    name = "offline"

    async def complete(
        self,
        ask: Ask,
        *,
        on_tokens: Callable[[int], None] | None = None,
        on_wait: Callable[[], None] | None = None,  # noqa: ARG002  nothing here is worth a queue
    ) -> Completion:
        """Answer the facts; `{}` where they are of no known kind."""
        await asyncio.sleep(0)  # a long run of answers must let the loop beat and cancel
        answer = _ANSWERS.get(str(ask.facts.get("kind")), _nothing)(ask.facts)
        text = json.dumps(answer, ensure_ascii=False)
        usage = Usage(
            input_tokens=_tokens(sum(len(message.content) for message in ask.messages)),
            output_tokens=_tokens(len(text)),
            estimated=True,
        )
        if on_tokens is not None:
            on_tokens(usage.output_tokens)
        return Completion(text, "stop", usage)

    async def close(self) -> None:
        """Nothing to let go of."""


def _nothing(_: Mapping[str, Any]) -> Mapping[str, Any]:
    return {}


def _tokens(characters: int) -> int:
    return -(-characters // _CHARACTERS_PER_TOKEN)
