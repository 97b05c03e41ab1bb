"""An OpenAI-compatible server on loopback that does what it is told, and remembers what it saw.

Real sockets, real HTTP, an event loop and a thread of its own. What it answers is a `Reply` (see `llm_replies`);
what it saw is a list of `Received`; what a test waits for is a condition, never a sleep:

    with LlmServer(Answer('{"ok": true}')) as server:
        server.then(throttled("1"), stalled())          # the next requests, one each; then the default again
        ...
        server.wait_for(lambda: server.requests[0].closed_at is not None)
"""

import asyncio
import json
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from base.clock import monotonic

#: How tokens are counted: a rule from a text to a number.
Count = Callable[[str], int]

#: What the server does with one request.
Reply = Callable[["Exchange"], Awaitable[None]]


def by_characters(text: str) -> int:
    """Four characters a token: also how the client estimates, so totals agree where no usage is reported."""
    return -(-len(text) // 4)


def by_words(text: str) -> int:
    """A rule no client guesses: totals agree only where the reported usage was read."""
    return len(text.split())


@dataclass
class Received:
    """One request, as the server saw it. Times are monotonic seconds; token counts are what it spent."""

    number: int
    at: float
    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    status: int | None = None
    sent: bytearray = field(default_factory=bytearray)
    input_tokens: int = 0
    output_tokens: int = 0
    #: When the answer was complete, or was cut on purpose.
    ended_at: float | None = None
    #: When the client let go of the connection before that.
    closed_at: float | None = None

    @property
    def in_flight(self) -> bool:
        """Neither answered nor given up."""
        return self.ended_at is None and self.closed_at is None

    @property
    def prompt(self) -> str:
        """Every message, joined: what prompt tokens are counted from."""
        return "".join(message["content"] for message in self.body.get("messages", ()))

    @property
    def user(self) -> str:
        """The last user message."""
        found: str = [message["content"] for message in self.body["messages"] if message["role"] == "user"][-1]
        return found


class Hold:
    """A door a reply waits at, until a test opens it."""

    def __init__(self) -> None:
        self._open = threading.Event()

    def open(self) -> None:
        """Let everyone through, now and later."""
        self._open.set()

    async def passed(self) -> None:
        """Wait; cancellable, since the client may go away meanwhile."""
        while not self._open.is_set():  # noqa: ASYNC110  opened from another thread
            await asyncio.sleep(0.005)


class Exchange:
    """One request being answered: what a reply writes to."""

    def __init__(self, server: "LlmServer", received: Received, writer: asyncio.StreamWriter) -> None:
        self.server = server
        self.received = received
        self._writer = writer
        self._chunked = False

    @property
    def body(self) -> Mapping[str, Any]:
        """The request's JSON."""
        return self.received.body

    def read_prompt(self) -> None:
        """The prompt is being worked on: from here on it costs."""
        self.received.input_tokens = self.server.count(self.received.prompt)
        self.server.changed()

    def wrote(self, text: str) -> None:
        """All the text generated so far, visible or not."""
        self.received.output_tokens = self.server.count(text)
        self.server.changed()

    async def whole(
        self, status: int, body: bytes, content_type: str = "application/json", headers: Mapping[str, str] | None = None
    ) -> None:
        """A complete answer in one piece."""
        await self._head(status, content_type, {"content-length": str(len(body)), **(headers or {})})
        await self._write(body)

    async def start(self, content_type: str = "text/event-stream; charset=utf-8") -> None:
        """The head of an answer that comes in pieces."""
        self._chunked = True
        await self._head(200, content_type, {"transfer-encoding": "chunked"})

    async def send(self, data: bytes) -> None:
        """One piece."""
        await self._write(b"%x\r\n%b\r\n" % (len(data), data))

    async def event(self, payload: Mapping[str, Any] | str) -> None:
        """One server-sent event."""
        text = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
        await self.send(b"data: %b\n\n" % text.encode())

    async def finish(self) -> None:
        """The proper end of an answer in pieces."""
        if self._chunked:
            await self._write(b"0\r\n\r\n")

    def cut(self) -> None:
        """Drop the connection, whatever is missing."""
        self._writer.close()

    async def _head(self, status: int, content_type: str, headers: Mapping[str, str]) -> None:
        self.received.status = status
        lines = [f"HTTP/1.1 {status} Scripted", f"content-type: {content_type}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._writer.write("\r\n".join([*lines, "", ""]).encode())
        await self._writer.drain()

    async def _write(self, data: bytes) -> None:
        self.received.sent += data
        self._writer.write(data)
        await self._writer.drain()
        self.server.changed()


class LlmServer:
    """The server. Use it as a context manager; `url` is the base URL a client is given."""

    def __init__(self, default: Reply, *, count: Count = by_characters) -> None:
        self.default = default
        self.count = count
        self.requests: list[Received] = []
        self.most_in_flight = 0
        self.connections = 0
        self.failures: list[BaseException] = []
        self._script: deque[Reply] = deque()
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="llm-server", daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
        if error is None and self.failures:
            raise AssertionError("a reply of the scripted server failed") from self.failures[0]

    @property
    def url(self) -> str:
        """The base URL, without `/chat/completions`."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def input_tokens(self) -> int:
        """Prompt tokens spent, over all requests that were not refused."""
        return sum(received.input_tokens for received in self.requests)

    @property
    def output_tokens(self) -> int:
        """Completion tokens sent, cut and abandoned answers included."""
        return sum(received.output_tokens for received in self.requests)

    def then(self, *replies: Reply) -> None:
        """Answer the next requests with these, one each, before the default counts again."""
        with self._changed:
            self._script.extend(replies)

    def wait_for(self, condition: Callable[[], object], seconds: float = 10) -> None:
        """Wait until the condition holds; it is looked at whenever something happened.

        From a coroutine: `await asyncio.to_thread(server.wait_for, condition)`.
        """
        with self._changed:
            if not self._changed.wait_for(condition, timeout=seconds):
                raise AssertionError(f"not within {seconds} s; seen so far: {self.summary()}")

    def summary(self) -> Sequence[tuple[int, int | None, str]]:
        """Number, status and fate of every request, for messages of failed tests."""
        return [
            (one.number, one.status, "open" if one.in_flight else "ended" if one.ended_at else "closed by client")
            for one in self.requests
        ]

    def changed(self) -> None:
        """Something happened that a test may be waiting for."""
        with self._changed:
            self._changed.notify_all()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 26)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        following = asyncio.ensure_future(_head(reader))
        try:
            while (head := await following) is not None:
                received = await self._receive(head, reader)
                # Reading the next head is also how the end of the connection is noticed.
                following = asyncio.ensure_future(_head(reader))
                if not await self._answer(received, writer, following):
                    break
        except asyncio.CancelledError:
            pass  # the server closes
        finally:
            following.cancel()
            writer.close()

    async def _receive(self, head: list[str], reader: asyncio.StreamReader) -> Received:
        method, path, _ = head[0].split(" ", 2)
        pairs = (line.split(":", 1) for line in head[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        with self._changed:
            received = Received(
                len(self.requests) + 1, monotonic(), method, path, headers, json.loads(body) if body else {}
            )
            self.requests.append(received)
            self.most_in_flight = max(self.most_in_flight, sum(one.in_flight for one in self.requests))
            self._changed.notify_all()
        return received

    async def _answer(
        self, received: Received, writer: asyncio.StreamWriter, following: "asyncio.Future[list[str] | None]"
    ) -> bool:
        """Follow the script for one request. Returns whether the connection can be used again."""
        with self._changed:
            reply = self._script.popleft() if self._script else self.default
        exchange = Exchange(self, received, writer)
        answering = asyncio.ensure_future(_follow(reply, exchange))
        both: set[asyncio.Future[Any]] = {answering, following}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                answering.cancel()
            (outcome,) = await asyncio.gather(answering, return_exceptions=True)
        finally:
            answering.cancel()
        if outcome is None:
            received.ended_at = monotonic()
        elif isinstance(outcome, asyncio.CancelledError | ConnectionError):
            received.closed_at = monotonic()
        else:
            self.failures.append(outcome)
        self.changed()
        return outcome is None and not writer.is_closing()


async def _follow(reply: Reply, exchange: Exchange) -> None:
    await reply(exchange)


async def _head(reader: asyncio.StreamReader) -> list[str] | None:
    """The lines of the next request's head; None when the client is gone."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return raw.decode("latin-1").split("\r\n")
