"""Tokens: what the run counts is what the server spent, failed and cut calls included (D6)."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from clients.llm.errors import ModelFailure
from clients.llm.model import NOTHING, PROMPT_TRUNCATED, Usage
from clients.llm.usage import estimate, measured
from tests.clients.asking import ask, client, complete
from tests.fakes.llm_replies import (
    Answer,
    empty,
    error_in_stream,
    overloaded,
    refusing,
    stalled,
    throttled,
    too_long,
    unauthorized,
    unstreamed,
)
from tests.fakes.llm_server import LlmServer, Reply, by_words

LONG = '{"name": "' + "some words " * 50 + '"}'


@pytest.fixture
def counting_words() -> Iterator[LlmServer]:
    """Its counts can't be guessed, only read."""
    with LlmServer(Answer(LONG), count=by_words) as running:
        yield running


def spent(server: LlmServer, calls: int, **options: Any) -> Usage:
    """Ask so many times, come what may."""

    async def run() -> Usage:
        model, total = client(server, **options), NOTHING
        for _ in range(calls):
            try:
                total += (await model.complete(ask())).usage
            except ModelFailure as failure:
                total += failure.usage
        await model.close()
        return total

    return asyncio.run(run())


def totals(server: LlmServer) -> tuple[int, int]:
    return server.input_tokens, server.output_tokens


def test_reported_tokens_are_the_servers(counting_words: LlmServer) -> None:
    replies: list[Reply] = [throttled("0"), Answer(LONG), overloaded(), unstreamed(LONG), too_long(), unauthorized()]
    counting_words.then(*replies, refusing("temperature", then=Answer()), Answer(LONG), empty(), empty(), Answer(LONG))

    usage = spent(counting_words, 10)

    assert len(counting_words.requests) == 11
    assert (usage.input_tokens, usage.output_tokens) == totals(counting_words)
    assert not usage.estimated


@pytest.mark.parametrize(
    "reply",
    [
        Answer(LONG, cut_after=200),
        Answer(LONG, usage=False),
        Answer(LONG, usage=False, thinking="well, " * 30),
        Answer(LONG, after_finish="cut"),
        Answer(LONG, finish=None, done=False, usage=False),
        unstreamed(LONG, usage=False),
        error_in_stream({"message": "overloaded"}, after="half an answer"),
        error_in_stream({"message": "overloaded"}),
        refusing("stream_options", then=Answer(LONG)),
    ],
)
def test_tokens_nobody_reports_are_estimated_and_marked_so(server: LlmServer, reply: Reply) -> None:
    server.default = reply

    usage = spent(server, 2)

    assert (usage.input_tokens, usage.output_tokens) == totals(server)
    assert usage.estimated


@pytest.mark.parametrize("reply", [stalled(), Answer(LONG, stall_after=300)])
def test_tokens_of_calls_out_of_time(server: LlmServer, reply: Reply) -> None:
    server.default = reply

    usage = spent(server, 1, timeout=0.6)

    assert (usage.input_tokens, usage.output_tokens) == totals(server)
    assert usage.estimated


def test_cached_tokens_are_read(server: LlmServer) -> None:
    server.default = Answer(usage_changes={"prompt_tokens_details": {"cached_tokens": 128}})

    assert spent(server, 2).cached_tokens == 256


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 4}, Usage(9, 4)),
        ({"prompt_tokens": 9, "total_tokens": 13}, Usage(9, 4)),
        ({"completion_tokens": 4, "total_tokens": 13}, Usage(9, 4)),
        ({"prompt_tokens": 9}, Usage(9, 5, estimated=True)),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, Usage(13, 5, estimated=True)),
        ({"prompt_tokens": "9", "completion_tokens": None}, Usage(13, 5, estimated=True)),
        ({"prompt_tokens": -9, "completion_tokens": 4}, Usage(13, 4, estimated=True)),
        ({"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": None}, Usage(9, 4)),
        (None, Usage(13, 5, estimated=True)),
        ({}, Usage(13, 5, estimated=True)),
    ],
)
def test_whatever_a_server_reports(reported: dict[str, Any] | None, expected: Usage) -> None:
    question = ask("x" * 20)  # 13 tokens with the system message

    assert measured(question, reported, 18) == expected


def test_no_text_and_no_tokens_is_no_estimate() -> None:
    assert measured(ask(), {"prompt_tokens": 9, "completion_tokens": 0}, 0) == Usage(9, 0)


def test_usages_add_up() -> None:
    assert Usage(1, 2, 3) + Usage(4, 5, 6, estimated=True) == Usage(5, 7, 9, estimated=True)
    assert (Usage(4, 5, 6) + NOTHING).total_tokens == 9


@pytest.mark.parametrize(
    ("characters", "prompt_tokens", "warned"),
    [
        (24_000, 5_800, False),
        (24_000, 4_096, True),
        (24_000, 4_097, False),
        (24_000, 2_048, True),
        (24_000, 3_000, True),
        (3_000, 100, False),
        (20_000, 4_096, False),
    ],
)
def test_a_prompt_cut_by_the_server(server: LlmServer, characters: int, prompt_tokens: int, warned: bool) -> None:
    server.default = Answer(usage_changes={"prompt_tokens": prompt_tokens, "total_tokens": None})

    answer = complete(server, ask("x" * characters))

    assert answer.warnings == ((PROMPT_TRUNCATED,) if warned else ())


def test_an_estimate_warns_of_nothing(server: LlmServer) -> None:
    server.default = Answer(usage=False)

    assert complete(server, ask("x" * 24_000)).warnings == ()


def test_the_estimate_of_a_question_is_what_a_silent_server_spends(server: LlmServer) -> None:
    server.default = Answer("")

    complete(server)

    assert estimate(ask()).input_tokens == server.requests[0].input_tokens
