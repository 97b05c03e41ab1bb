"""One HTTP request to a model and its answer: streamed as asked, or whole if the server insists (D3)."""

import asyncio
import json
from collections.abc import Mapping
from http import HTTPStatus

import httpx

from clients.llm.wire.call import Call
from clients.llm.wire.server_error import ServerError, from_response, in_answer
from clients.llm.wire.sse import EventReader
from clients.llm.wire.transcript import Transcript

#: Silence after the first token that means the stream is dead. Before it a model may think or load for minutes.
IDLE_SECONDS = 60.0

#: After the finish reason only usage and `[DONE]` follow; a server that then never closes is not waited for.
LINGER_SECONDS = 3.0

_LARGEST_ANSWER_BYTES = 64_000_000
_LARGEST_ERROR_BYTES = 100_000


class ServerRefusal(Exception):
    """The server answered with an error instead of an answer, or inside one."""

    def __init__(self, error: ServerError) -> None:
        super().__init__(error.status)
        self.error = error


class Unusable(Exception):
    """What came is no answer. The text is the end of a sentence that starts with the host's name."""


class NoApi(Unusable):
    """What came is nothing that the API of a model sends."""


async def exchange(http: httpx.AsyncClient, url: httpx.URL, body: bytes, call: Call) -> Transcript:
    """Send the request and read the answer to its end.

    Leaving early, by an error or a cancellation, closes the connection: that is what stops the provider (D1).

    Raises:
        ServerRefusal, Unusable, NoApi, httpx.HTTPError: what has come until then is in `call.transcript`.
    """
    async with http.stream("POST", url, content=body) as response:
        if response.status_code != HTTPStatus.OK:
            refusal = await _at_most(_LARGEST_ERROR_BYTES, response)
            raise ServerRefusal(from_response(response.status_code, dict(response.headers), refusal))
        kind = response.headers.get("content-type", "")
        if "html" in kind:
            raise NoApi("answers with a web page")
        transcript = call.accepted()
        if "application/json" in kind:
            await _read_whole(response, call, transcript)
        else:
            await _read_stream(response, call, transcript)
    if transcript.broken_off or not transcript.ended:
        raise Unusable("broke off in the middle of an answer")
    return transcript


async def _read_whole(response: httpx.Response, call: Call, transcript: Transcript) -> None:
    _take((await _at_most(_LARGEST_ANSWER_BYTES, response)).decode("utf-8", "replace"), call, transcript)
    if not transcript.has_choices:
        raise NoApi("answers something that is no completion")
    transcript.done = True


async def _read_stream(response: httpx.Response, call: Call, transcript: Transcript) -> None:
    try:
        async with asyncio.timeout(None) as patience:
            await _read_events(response, call, transcript, patience)
    except httpx.HTTPError:
        if not transcript.ended:
            raise
    except TimeoutError:
        if not transcript.ended:
            raise Unusable(f"fell silent for {IDLE_SECONDS:g} s in the middle of an answer") from None


async def _read_events(response: httpx.Response, call: Call, transcript: Transcript, patience: asyncio.Timeout) -> None:
    clock, reader, size = asyncio.get_running_loop().time, EventReader(), 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > _LARGEST_ANSWER_BYTES:
            raise Unusable("sends without end")
        ended_before = transcript.ended
        for event in reader.feed(piece):
            _take(event, call, transcript)
        if transcript.done or transcript.loops:
            return
        if transcript.characters and not transcript.ended:
            patience.reschedule(clock() + IDLE_SECONDS)
        elif transcript.ended and not ended_before:
            patience.reschedule(clock() + LINGER_SECONDS)
    for event in reader.end():
        _take(event, call, transcript)


def _take(data: str, call: Call, transcript: Transcript) -> None:
    """Add one chunk. Once the answer has ended, nothing that follows can spoil it."""
    if data.strip() in ("", "[DONE]"):
        transcript.done = transcript.done or bool(data.strip())
        return
    try:
        # Not orjson: it refuses half a surrogate pair, and servers do send the halves in two chunks.
        chunk = json.loads(data)
    except (ValueError, RecursionError):
        chunk = None
    error = in_answer(chunk) if isinstance(chunk, Mapping) else None
    if isinstance(chunk, Mapping) and error is None:
        transcript.take(chunk)
        call.advanced()
    elif not transcript.ended:
        raise ServerRefusal(error) if error else Unusable("sent something unreadable in the middle of an answer")


async def _at_most(size: int, response: httpx.Response) -> bytes:
    """The body, cut where it becomes absurd."""
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > size:
            break
    return bytes(body[:size])
