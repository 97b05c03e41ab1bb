"""What a call cost: as the provider says, and where it says nothing or nonsense, estimated and marked so (D3, D6)."""

from collections.abc import Mapping
from typing import Any

from clients.llm.model import Ask, Usage

#: English JSON measures 4.0 to 4.7 characters a token; other languages fewer.
CHARACTERS_PER_TOKEN = 4

#: No tokenizer in use packs ordinary prompts this tightly: a server that counts fewer tokens has not read it all.
_TIGHTEST_PACKING = 6

#: A count that sits exactly on a context size gives itself away even when it is not implausibly small.
_CONTEXT_STEP = 1024

#: Below this the chat template weighs more than the prompt.
_SHORTEST_JUDGED = 4000


def tokens_in(characters: int) -> int:
    """Estimated tokens of so many characters, rounded up."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def prompt_characters(ask: Ask) -> int:
    """Length of all messages together."""
    return sum(len(message.content) for message in ask.messages)


def estimate(ask: Ask, received_characters: int = 0) -> Usage:
    """What a call costs by our own count."""
    return Usage(
        input_tokens=tokens_in(prompt_characters(ask)),
        output_tokens=tokens_in(received_characters),
        estimated=True,
    )


def measured(ask: Ask, reported: Mapping[str, Any] | None, received_characters: int) -> Usage:
    """What a call cost by the provider's count; what is missing or impossible in it is estimated.

    A zero is impossible where there was text: servers that can't count report zeros.
    """
    guess = estimate(ask, received_characters)
    if not reported:
        return guess
    total = _count(reported, "total_tokens")
    output = _count(reported, "completion_tokens")
    prompt = _count(reported, "prompt_tokens") or max(0, total - output)
    output = output or max(0, total - prompt)
    details = reported.get("prompt_tokens_details")
    return Usage(
        input_tokens=prompt or guess.input_tokens,
        output_tokens=output or guess.output_tokens,
        cached_tokens=_count(details, "cached_tokens") if isinstance(details, Mapping) else 0,
        estimated=(not prompt and guess.input_tokens > 0) or (not output and guess.output_tokens > 0),
    )


def prompt_was_truncated(ask: Ask, usage: Usage) -> bool:
    """Whether the reported count says that the server dropped a part of the prompt.

    Ollama does so silently at its context size, 4096 tokens by default.
    """
    characters = prompt_characters(ask)
    if characters < _SHORTEST_JUDGED:
        return False
    on_the_limit = usage.input_tokens % _CONTEXT_STEP == 0
    packing = _TIGHTEST_PACKING - 1 if on_the_limit else _TIGHTEST_PACKING
    return usage.input_tokens * packing < characters


def _count(numbers: Mapping[str, Any], key: str) -> int:
    value = numbers.get(key)
    return value if isinstance(value, int) and value > 0 else 0
