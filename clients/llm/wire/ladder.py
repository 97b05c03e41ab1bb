"""Which optional parameters are given up, one step at a time, and what a process remembers of it (D3).

    response_format   json_schema -> json_object -> none
    limit             max_tokens -> max_completion_tokens -> none
    temperature       sent -> none
    stream_options    sent -> none

A step down is taken on a refusal that names the parameter and on nothing else. It is no attempt: the refused request
cost nothing. What was learned is kept per base URL and model for the life of the process.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from clients.llm.wire.dialect import Dialect, Parameter
from clients.llm.wire.refusals import is_too_long
from clients.llm.wire.server_error import ServerError

_REFUSED = (400, 422)
#: llama-cpp-python answers so to a `response_format` it does not know: as deterministic as any 400.
_REFUSED_TOO = 500

#: The answer's share of the context, in the words of vLLM and OpenAI.
_ANSWER_WORDS = re.compile(r"\b(completion|max_tokens|max_completion_tokens)\b")


@dataclass(frozen=True)
class Step:
    """The next dialect to try in a call, and whether other calls should start with it."""

    dialect: Dialect
    remember: bool


def after_refusal(dialect: Dialect, error: ServerError) -> Step | None:
    """The step down that a refusal asks for; None when nothing that was sent is its reason."""
    if dialect.limit and is_too_long(error) and _ANSWER_WORDS.search(error.text):
        # The prompt may fit, only not beside an answer of that length. A shorter prompt may have both.
        return Step(replace(dialect, limit=None), remember=False)
    named = [
        (position, parameter)
        for parameter, words in _words_of(dialect).items()
        if (position := error.position_of(words)) is not None
        and (error.status in _REFUSED or (parameter == "response_format" and error.status == _REFUSED_TOO))
    ]
    return Step(dialect.without(min(named)[1]), remember=True) if named else None


def _words_of(dialect: Dialect) -> dict[Parameter, re.Pattern[str]]:
    """What an error has to name to mean a parameter; only of parameters that were sent."""
    words: dict[Parameter, str] = {
        "response_format": "response_format|json_schema|json_object" if dialect.response_format else "",
        "limit": dialect.limit or "",
        "temperature": "temperature" if dialect.temperature else "",
        "stream_options": "stream_options|include_usage" if dialect.stream_options else "",
    }
    return {parameter: re.compile(rf"\b({found})\b") for parameter, found in words.items() if found}


def known(base_url: str, model: str) -> Dialect:
    """The dialect to start a call with."""
    return _known.get((base_url, model), Dialect())


def learn(base_url: str, model: str, changes: Mapping[str, Any]) -> None:
    """Let later calls start with these changes. Only these: another call may have learned others meanwhile."""
    _known[base_url, model] = replace(known(base_url, model), **changes)


_known: dict[tuple[str, str], Dialect] = {}
