"""Which optional parameters a model is asked with, and how the client learns what it refuses (D3).

    response_format   json_schema -> json_object -> none
    limit             max_tokens -> max_completion_tokens -> none
    temperature       sent -> none
    stream_options    sent -> none

`max_tokens` comes first because of how it fails: models that want the other name refuse it and say so, while servers
that only know this name ignore the other one silently, and with it the limit.
What was learned is kept per base URL and model for the life of the process.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from clients.llm.model import Ask
from clients.llm.wire.server_error import ServerError
from clients.llm.wire.strict import strict
from clients.llm.wire.transcript import Transcript
from clients.llm.wire.verdict import is_too_long

Parameter = Literal["response_format", "limit", "temperature", "stream_options"]

_REFUSED = (400, 422)
#: llama-cpp-python answers so to a `response_format` it does not know: as deterministic as any 400.
_REFUSED_TOO = 500

_ANSWER_WORDS = re.compile(r"\bcompletion\b|max_tokens|max_completion_tokens")


@dataclass(frozen=True)
class Dialect:
    """The optional parameters sent to a model."""

    response_format: Literal["json_schema", "json_object"] | None = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] | None = "max_tokens"
    temperature: bool = True
    stream_options: bool = True

    def body(self, model: str, ask: Ask) -> bytes:
        """The request. The same question gives the same bytes."""
        body: dict[str, Any] = {
            "model": model,
            "messages": [{"role": one.role, "content": one.content} for one in ask.messages],
            "stream": True,
        }
        if self.stream_options:
            body["stream_options"] = {"include_usage": True}
        if self.limit is not None:
            body[self.limit] = ask.max_completion_tokens
        if self.temperature and ask.temperature is not None:
            body["temperature"] = ask.temperature
        if self.response_format is not None:
            body["response_format"] = _response_format(self.response_format, ask)
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    def without(self, parameter: Parameter) -> "Dialect":
        """One step down for one parameter."""
        match parameter:
            case "response_format":
                return replace(self, response_format="json_object" if self.response_format == "json_schema" else None)
            case "limit":
                return replace(self, limit="max_completion_tokens" if self.limit == "max_tokens" else None)
            case "temperature":
                return replace(self, temperature=False)
            case "stream_options":
                return replace(self, stream_options=False)

    def changes_to(self, other: "Dialect") -> dict[str, Any]:
        """What the other does differently, by field."""
        return {key: value for key, value in vars(other).items() if value != getattr(self, key)}


@dataclass(frozen=True)
class Step:
    """The next dialect to try in a call, and whether other calls should start with it."""

    dialect: Dialect
    remember: Literal["now", "if it helps", "never"]


def after_error(dialect: Dialect, error: ServerError) -> Step | None:
    """The step down that a refusal asks for; None when nothing that was sent is its reason."""
    if dialect.limit and is_too_long(error) and _ANSWER_WORDS.search(error.text):
        # The prompt may fit, only not beside an answer of that length. A shorter prompt may have both.
        return Step(replace(dialect, limit=None), remember="never")
    named = [
        (position, parameter)
        for parameter, words in _words_of(dialect).items()
        if (position := error.position_of(words)) is not None
        and (error.status in _REFUSED or (parameter == "response_format" and error.status == _REFUSED_TOO))
    ]
    return Step(dialect.without(min(named)[1]), remember="now") if named else None


def after_answer(dialect: Dialect, transcript: Transcript) -> Step | None:
    """The step down that an unusable answer asks for; None when it is to be taken as it is."""
    if dialect.response_format is None:
        return None
    if transcript.loops:
        return Step(replace(dialect, response_format=None), remember="never")
    if transcript.empty:
        return Step(dialect.without("response_format"), remember="if it helps")
    return None


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


def _response_format(kind: Literal["json_schema", "json_object"], ask: Ask) -> dict[str, Any]:
    if kind == "json_object":
        return {"type": "json_object"}
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", ask.schema_name)[:64]
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": strict(ask.schema)}}
