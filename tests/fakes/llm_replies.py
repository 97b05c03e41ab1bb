"""What a scripted model server can do with a request: answer, refuse, throttle, stall, cut, talk nonsense.

Each makes a `Reply` for `LlmServer`; names say what the server does: `server.then(throttled("2"), stalled())`.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from tests.fakes.llm_server import Exchange, Hold, Received, Reply

#: A text, or a rule that makes it from the request.
Text = str | Callable[[Received], str]

#: The bodies in which real servers refuse a parameter.
Shape = Literal["openai", "pydantic", "detail", "text", "message", "llama-cpp-python"]

_FOREVER = 3600.0


@dataclass(frozen=True)
class Answer:
    """A completion, streamed if asked to be. Longer than the request's token limit, it is cut with finish `length`."""

    text: Text = "{}"
    _: KW_ONLY
    #: The reason sent last; None sends none.
    finish: str | None = "stop"
    #: Whether a request for usage is honoured.
    usage: bool = True
    #: What the reported usage says differently; None removes a key.
    usage_changes: Mapping[str, Any] = field(default_factory=dict)
    #: Whether `[DONE]` is sent.
    done: bool = True
    #: What follows the finish reason: the proper end, a cut, or nothing at all on a connection left open.
    after_finish: Literal["end", "cut", "silence"] = "end"
    #: Sent before the text, as `reasoning_content`.
    thinking: str = ""
    #: Characters per event, and seconds between events.
    piece: int = 24
    pace: float = 0.0
    #: Drop the connection, or fall silent, after so many characters of the text.
    cut_after: int | None = None
    stall_after: int | None = None
    #: Wait there after the first event.
    hold: Hold | None = None

    async def __call__(self, exchange: Exchange) -> None:
        exchange.read_prompt()
        whole = self.text(exchange.received) if callable(self.text) else self.text
        shown, finish = _within_limit(exchange, whole, self.finish)
        if exchange.body.get("stream"):
            await self._stream(exchange, shown, finish)
        else:
            await self._at_once(exchange, shown, finish)

    async def _at_once(self, exchange: Exchange, shown: str, finish: str | None) -> None:
        exchange.wrote(self.thinking + shown)
        message = {"role": "assistant", "content": shown}
        body = {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}
        await exchange.whole(200, _json(body | ({"usage": self._usage(exchange)} if self.usage else {})))

    async def _stream(self, exchange: Exchange, shown: str, finish: str | None) -> None:
        await exchange.start()
        await exchange.event(_chunk({"role": "assistant", "content": ""}))
        if self.hold is not None:
            await self.hold.passed()
        stop_at = next((n for n in (self.cut_after, self.stall_after) if n is not None), len(shown))
        await self._pieces(exchange, shown[:stop_at])
        if self.cut_after is not None:
            exchange.cut()
            return
        if self.stall_after is not None:
            await asyncio.sleep(_FOREVER)
        if finish is not None:
            await exchange.event(_chunk({}, finish))
        if self.after_finish == "cut":
            exchange.cut()
            return
        if self.after_finish == "silence":
            await asyncio.sleep(_FOREVER)
        if self.usage and (exchange.body.get("stream_options") or {}).get("include_usage"):
            await exchange.event({"id": "c", "choices": [], "usage": self._usage(exchange)})
        if self.done:
            await exchange.event("[DONE]")
        await exchange.finish()

    async def _pieces(self, exchange: Exchange, shown: str) -> None:
        written = ""
        for key, text in (("reasoning_content", self.thinking), ("content", shown)):
            for start in range(0, len(text), self.piece):
                part = text[start : start + self.piece]
                written += part
                exchange.wrote(written)
                await exchange.event(_chunk({key: part}))
                if self.pace:
                    await asyncio.sleep(self.pace)

    def _usage(self, exchange: Exchange) -> dict[str, Any]:
        spent = exchange.received
        usage = {
            "prompt_tokens": spent.input_tokens,
            "completion_tokens": spent.output_tokens,
            "total_tokens": spent.input_tokens + spent.output_tokens,
            "prompt_tokens_details": {"cached_tokens": 0},
            **self.usage_changes,
        }
        return {key: value for key, value in usage.items() if value is not None}


def unstreamed(text: Text = "{}", *, finish: str = "stop", usage: bool = True) -> Reply:
    """A complete JSON answer, though a stream was asked for."""

    async def reply(exchange: Exchange) -> None:
        exchange.received.body = {**exchange.body, "stream": False}
        await Answer(text, finish=finish, usage=usage)(exchange)

    return reply


def fenced(value: Any) -> Reply:
    """The right JSON, wrapped in a fence and small talk."""
    return Answer(f"Sure, here it is:\n```json\n{json.dumps(value, indent=1)}\n```\nAnything else?")


def prose() -> Reply:
    """Words where JSON was asked for."""
    return Answer("I am afraid these field names are too cryptic for me to describe them well.")


def empty(*, usage: bool = True) -> Reply:
    """A proper answer with nothing in it."""
    return Answer("", usage=usage)


def filtered(text: str = "") -> Reply:
    """The content filter strikes while the model answers."""
    return Answer(text, finish="content_filter")


def refusal(sentence: str = "I can't help with that.") -> Reply:
    """The model declines, in the field made for it."""
    return raw(_chunk({"refusal": sentence}), _chunk({}, "stop"), "[DONE]")


def null_content(finish: str = "length") -> Reply:
    """`content: null` all the way, as a reasoning model sends that spent its whole budget thinking."""
    return raw(_chunk({"role": "assistant", "content": None}), _chunk({"content": None}, finish), "[DONE]")


def without_choices() -> Reply:
    """A stream whose choices are empty, null or absent."""
    return raw({"choices": []}, {"choices": None}, {"id": "c"}, "[DONE]")


def raw(*events: Mapping[str, Any] | str) -> Reply:
    """A stream of exactly these events."""

    async def reply(exchange: Exchange) -> None:
        exchange.read_prompt()
        await exchange.start()
        for event in events:
            await exchange.event(event)
        await exchange.finish()

    return reply


def bytes_of(*parts: bytes, content_type: str = "text/event-stream") -> Reply:
    """Exactly these bytes, one write each."""

    async def reply(exchange: Exchange) -> None:
        exchange.read_prompt()
        await exchange.start(content_type)
        for part in parts:
            await exchange.send(part)
        await exchange.finish()

    return reply


def error_in_stream(error: Any, *, after: str = "") -> Reply:
    """Status 200, some text perhaps, then an error where a chunk should be."""

    async def reply(exchange: Exchange) -> None:
        exchange.read_prompt()
        await exchange.start()
        if after:
            exchange.wrote(after)
            await exchange.event(_chunk({"content": after}))
        await exchange.event({"error": error})
        await exchange.finish()

    return reply


def stalled() -> Reply:
    """Takes the request and never says a word."""

    async def reply(exchange: Exchange) -> None:
        exchange.read_prompt()
        await asyncio.sleep(_FOREVER)

    return reply


def hung_up() -> Reply:
    """Drops the connection instead of answering."""

    async def reply(exchange: Exchange) -> None:
        exchange.cut()

    return reply


def status(code: int, body: Any = None, *, headers: Mapping[str, str] | None = None) -> Reply:
    """Any status with any JSON body."""

    async def reply(exchange: Exchange) -> None:
        await exchange.whole(code, _json({} if body is None else body), headers=headers)

    return reply


def error(
    code: int,
    message: str = "something is wrong",
    *,
    kind: str | None = None,
    param: str | None = None,
    error_code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """An error in OpenAI's shape."""
    body = {"error": {"message": message, "type": kind, "param": param, "code": error_code}}
    return status(code, body, headers=headers)


def throttled(retry_after: str | None = None, *, header: str = "retry-after") -> Reply:
    """429, with the wait in `retry-after` (seconds or an HTTP date) or `retry-after-ms`."""
    headers = {} if retry_after is None else {header: retry_after}
    return error(429, "Rate limit reached", kind="requests", error_code="rate_limit_exceeded", headers=headers)


def overloaded(retry_after: str | None = None) -> Reply:
    """503, with or without Retry-After."""
    return error(503, "Loading model", headers={} if retry_after is None else {"retry-after": retry_after})


def out_of_quota() -> Reply:
    """429 that no waiting cures."""
    message = "You exceeded your current quota, please check your plan and billing details."
    return error(429, message, kind="insufficient_quota", error_code="insufficient_quota")


def unauthorized() -> Reply:
    """401, quoting the key as some providers do."""

    async def reply(exchange: Exchange) -> None:
        headers = exchange.received.headers
        key = headers.get("authorization") or headers.get("api-key") or "none"
        message = f"Incorrect API key provided: {key}."
        await error(401, message, kind="invalid_request_error", error_code="invalid_api_key")(exchange)

    return reply


def forbidden() -> Reply:
    """403."""
    return error(403, "Project does not have access to this model", error_code="model_not_found")


def unknown_model() -> Reply:
    """404, as Ollama and OpenAI answer for a model that isn't there."""
    return error(404, "model not found, try pulling it first", error_code="model_not_found")


def too_long() -> Reply:
    """400: the prompt does not fit."""
    message = "This model's maximum context length is 4096 tokens. However, your messages resulted in 12030 tokens."
    return error(400, message, kind="invalid_request_error", param="messages", error_code="context_length_exceeded")


def prompt_filtered() -> Reply:
    """400: Azure's content filter, before any answer."""
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"jailbreak": {"filtered": True}}}
    return status(400, {"error": {"message": "filtered", "code": "content_filter", "status": 400, "innererror": inner}})


def web_page(code: int) -> Reply:
    """HTML from a proxy in between."""

    async def reply(exchange: Exchange) -> None:
        await exchange.whole(code, b"<html><title>Gateway</title><body>nope</body></html>", "text/html")

    return reply


def redirect(target: str) -> Reply:
    """The address has moved."""
    return status(307, headers={"location": target})


def refusing(*parameters: str, then: Reply, shape: Shape = "openai", code: int = 400) -> Reply:
    """Refuse the first of these parameters that is present, else go on with `then`.

    Names are those of the body; `json_schema` and `json_object` are the kinds of `response_format`.
    """

    async def reply(exchange: Exchange) -> None:
        for name in parameters:
            if _present(exchange.body, name):
                await status(code, _refusal_body(name, shape))(exchange)
                return
        await then(exchange)

    return reply


def _present(body: Mapping[str, Any], name: str) -> bool:
    if name in ("json_schema", "json_object"):
        return bool((body.get("response_format") or {}).get("type") == name)
    return name in body


def _refusal_body(name: str, shape: Shape) -> Any:
    parameter = "response_format" if name in ("json_schema", "json_object") else name
    place = ["body", parameter, "type"] if parameter == "response_format" else ["body", parameter]
    sentence = f"Unsupported parameter: '{parameter}' is not supported with this model."
    kind, code = "invalid_request_error", "unsupported_parameter"
    match shape:
        case "openai":
            return {"error": {"message": sentence, "type": kind, "param": parameter, "code": code}}
        case "pydantic":
            return {"detail": [{"type": "extra_forbidden", "loc": place, "msg": "Extra inputs are not permitted"}]}
        case "detail":
            return {"detail": sentence}
        case "text":
            return {"error": sentence}
        case "message":
            return {"object": "error", "message": sentence, "type": "BadRequestError", "param": None, "code": 400}
        case "llama-cpp-python":
            said = f"[{{'type': 'literal_error', 'loc': {tuple(place)}, 'msg': \"Input should be 'text'\"}}]"
            return {"error": {"message": said, "type": "internal_server_error", "param": None, "code": None}}


def _within_limit(exchange: Exchange, text: str, finish: str | None) -> tuple[str, str | None]:
    """The text and its finish, cut as a real model would be at the token limit of the request."""
    limit = exchange.body.get("max_completion_tokens", exchange.body.get("max_tokens"))
    if limit is None or exchange.server.count(text) <= limit:
        return text, finish
    shown = text[: limit * 4]
    while exchange.server.count(shown) > limit:
        shown = shown[:-1]
    return shown, "length"


def _chunk(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": dict(delta), "finish_reason": finish}],
    }


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
