"""What a server says when it refuses: read out of the many shapes in which it does.

    {"error": {"message", "type", "param", "code", "innererror"}}     OpenAI, Azure, llama.cpp
    {"error": "text"}                                                 Ollama
    {"detail": "text"}, {"detail": [{"loc", "msg"}]}                  FastAPI
    {"object": "error", "message", "param", "code"}                   older vLLM
    anything else, HTML included                                      proxies

The text is for deciding only. It may repeat the prompt or the key, so no sentence of ours ever quotes it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

#: What errors inside a 200 stream mean, where they carry no status of their own.
_STATUS_OF_CODE = {
    "invalid_api_key": 401,
    "authentication_error": 401,
    "permission_error": 403,
    "model_not_found": 404,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "insufficient_quota": 429,
    "context_length_exceeded": 400,
    "exceed_context_size_error": 400,
    "content_filter": 400,
    "invalid_request_error": 400,
}

#: Enough to decide by. A server that repeats the prompt does so further on, and its words must not decide.
_TEXT_READ = 500


@dataclass(frozen=True)
class ServerError:
    """One refusal. `codes` are all its code-like words, in lower case; `parameter` is the one it points at, or ""."""

    status: int
    text: str = ""
    codes: frozenset[str] = frozenset()
    parameter: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def position_of(self, words: re.Pattern[str]) -> int | None:
        """Where it names one of these words: -1 when it points at it, else its place in the text; None if nowhere."""
        if words.search(self.parameter):
            return -1
        found = words.search(self.text)
        return found.start() if found else None


def from_response(status: int, headers: Mapping[str, str], body: bytes) -> ServerError:
    """Read a refusal that came with a status."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ServerError(status, text=_text(body.decode("utf-8", "replace")), headers=headers)
    return _read(status, value, headers)


def in_answer(chunk: Mapping[str, Any]) -> ServerError | None:
    """Read a refusal that came where an answer, or a part of one, should be; None when it is no refusal.

    It has no status of its own; without any hint it counts as the server's fault.
    """
    if not chunk.get("error") and ("choices" in chunk or not ("detail" in chunk or chunk.get("object") == "error")):
        return None
    error = _read(500, chunk, {})
    body = chunk.get("error")
    numbers = [body.get(key) for key in ("status", "status_code", "code")] if isinstance(body, Mapping) else []
    stated = next((number for number in numbers if number in range(400, 600)), None)
    meant = next((status for code, status in _STATUS_OF_CODE.items() if code in error.codes), None)
    return replace(error, status=stated or meant or error.status)


def _read(status: int, value: Any, headers: Mapping[str, str]) -> ServerError:
    body = value
    if isinstance(value, Mapping):
        body = value.get("error") or value.get("detail") or value
    if isinstance(body, list) and body and isinstance(body[0], Mapping):
        place = body[0].get("loc")
        names = [str(part) for part in place if part != "body"] if isinstance(place, list) else []
        return ServerError(status, text=_text(body[0].get("msg")), parameter=".".join(names), headers=headers)
    if not isinstance(body, Mapping):
        return ServerError(status, text=_text(body), headers=headers)
    inner = body.get("innererror")
    words = [body.get("code"), body.get("type"), inner.get("code") if isinstance(inner, Mapping) else None]
    return ServerError(
        status,
        text=_text(body.get("message")),
        codes=frozenset(word.lower() for word in words if isinstance(word, str)),
        parameter=str(body.get("param") or ""),
        headers=headers,
    )


def _text(value: Any) -> str:
    return str(value)[:_TEXT_READ]
