"""How a question is put: the request, with the optional parameters that a model is known to take.

`max_tokens` is the first choice because of how it fails: models that want the other name refuse it and say so, while
servers that only know this name ignore the other one silently, and with it the limit.
"""

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from clients.llm.model import Ask
from clients.llm.wire.strict import strict

Parameter = Literal["response_format", "limit", "temperature", "stream_options"]


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
        if self.response_format is not None and ask.enforced:
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


def _response_format(kind: Literal["json_schema", "json_object"], ask: Ask) -> dict[str, Any]:
    if kind == "json_object":
        return {"type": "json_object"}
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", ask.schema_name)[:64]
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": strict(ask.schema)}}
