"""Calls that end early: cancelled, out of time, or gone silent. The connection always closes: that stops the bill."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from base.clock import monotonic
from clients.llm.errors import Unavailable
from clients.llm.openai import OpenAIModel
from clients.llm.wire import exchange
from tests.clients.asking import ask, client, complete
from tests.fakes.llm_replies import Answer, refusing, stalled
from tests.fakes.llm_server import LlmServer, Reply

LONG = '{"name": "' + "x" * 3000 + '"}'


async def seen(server: LlmServer, condition: Callable[[], object]) -> None:
    await asyncio.to_thread(server.wait_for, condition)


async def cancelled_at(
    server: LlmServer, when: Callable[[], object], use: Callable[[OpenAIModel], Awaitable[object]]
) -> float:
    """Start a call, cancel it when the server has seen this; how long the server took to see the connection close."""
    model = client(server)
    task = asyncio.ensure_future(use(model))
    await seen(server, when)
    at = monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await seen(server, lambda: not server.requests[-1].in_flight)
    closed_at = server.requests[-1].closed_at
    assert closed_at is not None, "the server had to send the answer to its end"
    await model.close()
    return closed_at - at


@pytest.mark.parametrize(
    "reply",
    [
        stalled(),
        Answer(LONG, stall_after=100),
        Answer(LONG, piece=5, pace=0.01),
        refusing("temperature", then=Answer(LONG, piece=5, pace=0.01)),
    ],
    ids=["before the answer", "silent stream", "flowing stream", "after an adaptation"],
)
def test_a_cancelled_call_closes_the_connection_at_once(server: LlmServer, reply: Reply) -> None:
    server.default = reply

    def working() -> bool:
        return bool(server.requests) and server.requests[-1].input_tokens > 0

    took = asyncio.run(cancelled_at(server, working, lambda model: model.complete(ask())))

    assert took < 1
    assert server.requests[-1].output_tokens < 100, "it went on generating"


def test_a_cancelled_call_is_not_tried_again_and_frees_its_slot(server: LlmServer) -> None:
    server.then(stalled())

    async def run() -> None:
        model = client(server, max_concurrent=1)
        task = asyncio.ensure_future(model.complete(ask()))
        await seen(server, lambda: server.requests)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await seen(server, lambda: server.requests[0].closed_at)
        assert len(server.requests) == 1
        assert (await model.complete(ask())).text == '{"name": "Active permits"}'
        await model.close()

    asyncio.run(run())


def test_a_cancelled_call_has_told_what_it_cost(server: LlmServer) -> None:
    told: list[int] = []
    server.default = Answer(LONG, stall_after=400)

    def tell(tokens: int) -> None:
        told.append(tokens)
        server.changed()

    asyncio.run(cancelled_at(server, lambda: told[-1:] == [100], lambda model: model.complete(ask(), on_tokens=tell)))

    assert told[-1] == server.requests[0].output_tokens == 100


@pytest.mark.parametrize("reply", [stalled(), Answer(LONG, piece=5, pace=0.02)], ids=["stalled", "dripping"])
def test_a_call_has_its_time_and_no_more(server: LlmServer, reply: Reply) -> None:
    server.default = reply

    with pytest.raises(Unavailable, match=r"did not finish an answer within 0\.3 s") as failure:
        complete(server, timeout=0.3)

    server.wait_for(lambda: server.requests[0].closed_at)
    assert len(server.requests) == 1
    assert failure.value.usage.input_tokens == server.input_tokens
    assert failure.value.usage.estimated


def test_a_stream_that_falls_silent_is_given_up_early(server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "IDLE_SECONDS", 0.1)
    server.default = Answer(LONG, stall_after=400)

    with pytest.raises(Unavailable, match="fell silent"):
        complete(server)

    server.wait_for(lambda: server.requests[0].closed_at)


def test_silence_before_the_first_token_is_thinking(server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "IDLE_SECONDS", 0.05)
    server.default = Answer(LONG, stall_after=0)

    with pytest.raises(Unavailable, match="did not finish"):
        complete(server, timeout=0.4)
