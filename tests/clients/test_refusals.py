"""Refusals: which failure each is, so that the right things are tried again and the others are not (E22)."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import SecretStr

from base.clock import now
from clients.llm.errors import Filtered, ModelFailure, RefusingModel, Rejected, TooLong, Unavailable
from tests.clients.asking import KEY, ask, complete
from tests.fakes.llm_replies import (
    error,
    error_in_stream,
    forbidden,
    hung_up,
    out_of_quota,
    overloaded,
    prompt_filtered,
    redirect,
    status,
    throttled,
    too_long,
    unauthorized,
    unknown_model,
    web_page,
)
from tests.fakes.llm_server import LlmServer, Reply


def failure_of(server: LlmServer, reply: Reply, **options: Any) -> ModelFailure:
    server.then(reply)
    with pytest.raises(ModelFailure) as caught:
        complete(server, **options)
    assert len(server.requests) == 1, "a refusal is not tried again here"
    return caught.value


@pytest.mark.parametrize(
    "reply",
    [
        status(408),
        status(409),
        throttled(),
        status(500),
        web_page(502),
        overloaded(),
        status(504, "upstream timed out"),
        status(529),
        error(429, "too many requests", error_code="rate_limit_exceeded"),
        error(400, "try again", headers={"x-should-retry": "true"}),
        error_in_stream({"message": "overloaded", "type": "server_error"}),
        error_in_stream({"message": "slow down", "code": 429}),
        error_in_stream("something went wrong"),
        hung_up(),
    ],
)
def test_what_may_pass_is_unavailable(server: LlmServer, reply: Reply) -> None:
    assert isinstance(failure_of(server, reply), Unavailable)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (throttled("7"), timedelta(seconds=7)),
        (throttled("1500", header="retry-after-ms"), timedelta(seconds=1.5)),
        (overloaded("300"), timedelta(seconds=300)),
        (throttled(), None),
    ],
)
def test_the_providers_wish_is_passed_on(server: LlmServer, reply: Reply, expected: timedelta | None) -> None:
    failure = failure_of(server, reply)

    assert isinstance(failure, Unavailable)
    assert failure.retry_after == expected


def test_a_wish_as_a_date(server: LlmServer) -> None:
    until = now() + timedelta(seconds=60)

    failure = failure_of(server, throttled(until.strftime("%a, %d %b %Y %H:%M:%S GMT")))

    assert isinstance(failure, Unavailable)
    assert failure.retry_after is not None
    assert timedelta(seconds=50) < failure.retry_after <= timedelta(seconds=60)


@pytest.mark.parametrize(
    ("reply", "advice"),
    [
        (unauthorized(), "set LONGHAUL_LLM__API_KEY"),
        (forbidden(), "set another LONGHAUL_LLM__MODEL"),
        (unknown_model(), "check LONGHAUL_LLM__MODEL"),
        (status(405), "check LONGHAUL_LLM__BASE_URL"),
        (status(402), "top the account up"),
        (out_of_quota(), "top the account up"),
        (redirect("https://elsewhere.invalid/v1/chat/completions"), "the final address"),
        (error_in_stream({"message": "who are you?", "code": "invalid_api_key"}), "set LONGHAUL_LLM__API_KEY"),
        (error_in_stream({"message": "no money", "code": "insufficient_quota"}), "top the account up"),
    ],
)
def test_what_somebody_has_to_mend_ends_the_run(server: LlmServer, reply: Reply, advice: str) -> None:
    failure = failure_of(server, reply)

    assert isinstance(failure, RefusingModel)
    assert failure.reason == "model_refusing"
    assert advice in str(failure)


def test_a_refused_key_is_another_matter_than_none(server: LlmServer) -> None:
    assert "refuses the key" in str(failure_of(server, unauthorized(), api_key=SecretStr(KEY)))


@pytest.mark.parametrize(
    "reply",
    [
        too_long(),
        error(400, "the request exceeds the available context size", kind="exceed_context_size_error"),
        error(500, "input is too long for this context window"),
        error(413, "Payload Too Large"),
        error(429, "Request too large for model on tokens per min (TPM)", error_code="rate_limit_exceeded"),
        error_in_stream({"message": "too many", "code": "context_length_exceeded"}),
        status(400, {"detail": "This model's maximum context length is 4096 tokens."}),
    ],
)
def test_a_prompt_that_does_not_fit(server: LlmServer, reply: Reply) -> None:
    assert isinstance(failure_of(server, reply), TooLong)


@pytest.mark.parametrize(
    "reply",
    [prompt_filtered(), error(400, "no", error_code="content_policy_violation"), error(400, kind="content_filter")],
)
def test_a_prompt_stopped_by_the_filter(server: LlmServer, reply: Reply) -> None:
    assert isinstance(failure_of(server, reply), Filtered)


@pytest.mark.parametrize(
    "reply",
    [
        error(400, "I don't like it"),
        error(422, "nor I"),
        error(503, "never again", headers={"x-should-retry": "false"}),
        status(400, ["strange"]),
        web_page(400),
    ],
)
def test_a_prompt_refused_for_no_known_reason(server: LlmServer, reply: Reply) -> None:
    failure = failure_of(server, reply)

    assert isinstance(failure, Rejected)
    assert not isinstance(failure, Filtered)


def test_the_words_of_a_repeated_prompt_decide_nothing(server: LlmServer) -> None:
    """The prompt of a weather API names temperatures; the complaint is another one."""
    question = ask("x" * 500 + " temperature, max_tokens, context length")
    server.then(error(400, f"Unknown role in: {question.messages[1].content}"))

    with pytest.raises(Rejected):
        complete(server, question)

    assert len(server.requests) == 1
