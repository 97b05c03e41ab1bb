"""The parameter ladder (D3): what a model refuses is given up once, remembered, and costs no attempt."""

import asyncio

import pytest

from clients.llm.errors import Rejected, TooLong, Unavailable
from tests.clients.asking import ask, client, complete, sent_format
from tests.fakes.llm_replies import Answer, Shape, error, error_in_stream, refusing, status, throttled, too_long
from tests.fakes.llm_server import Exchange, LlmServer

OK = Answer('{"name": "X"}')

SHAPES: tuple[Shape, ...] = ("openai", "pydantic", "detail", "text", "message")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("code", [400, 422])
@pytest.mark.parametrize("parameter", ["temperature", "stream_options", "max_tokens"])
def test_a_refused_parameter_is_given_up_once(server: LlmServer, parameter: str, shape: Shape, code: int) -> None:
    server.default = refusing(parameter, then=OK, shape=shape, code=code)

    assert complete(server).text == '{"name": "X"}'
    assert complete(server).text == '{"name": "X"}'

    assert [one.status for one in server.requests] == [code, 200, 200]
    assert [parameter in one.body for one in server.requests] == [True, False, False]


@pytest.mark.parametrize("shape", SHAPES)
def test_formats_are_given_up_one_by_one(server: LlmServer, shape: Shape) -> None:
    server.default = refusing("json_schema", "json_object", then=OK, shape=shape)

    complete(server)
    complete(server)

    assert [sent_format(one) for one in server.requests] == ["json_schema", "json_object", None, None]


def test_a_format_refused_as_a_server_error(server: LlmServer) -> None:
    """llama-cpp-python answers 500 to json_schema: as deterministic as any 400."""
    server.default = refusing("json_schema", then=OK, shape="llama-cpp-python", code=500)

    complete(server)

    assert [sent_format(one) for one in server.requests] == ["json_schema", "json_object"]


def test_a_server_error_that_names_another_parameter_is_a_server_error(server: LlmServer) -> None:
    server.default = error(500, "the temperature of the machine room is too high")

    with pytest.raises(Unavailable):
        complete(server)

    assert len(server.requests) == 1


def test_the_limit_changes_its_name(server: LlmServer) -> None:
    message = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    new_name = error(400, message, param="max_tokens", error_code="unsupported_parameter")

    async def answer(conversation: Exchange) -> None:
        await (new_name if "max_tokens" in conversation.body else OK)(conversation)

    server.default = answer
    complete(server, ask(max_completion_tokens=77))

    assert server.requests[1].body["max_completion_tokens"] == 77
    assert "max_tokens" not in server.requests[1].body


def test_a_limit_the_model_can_not_keep_is_given_up(server: LlmServer) -> None:
    server.default = refusing("max_tokens", "max_completion_tokens", then=OK)

    complete(server)

    assert not {"max_tokens", "max_completion_tokens"} & server.requests[-1].body.keys()


def test_everything_refused_one_after_another(server: LlmServer) -> None:
    server.default = refusing(
        "temperature", "json_schema", "stream_options", "max_tokens", "json_object", "max_completion_tokens", then=OK
    )

    answer = complete(server)

    assert answer.text == '{"name": "X"}'
    assert answer.usage.estimated, "no stream_options, no reported usage"
    assert server.requests[-1].body.keys() == {"model", "messages", "stream"}
    assert len(server.requests) == 7


def test_a_refusal_inside_the_stream(server: LlmServer) -> None:
    refused = {"message": "Unsupported value", "type": "invalid_request_error", "param": "temperature"}

    async def answer(conversation: Exchange) -> None:
        await (error_in_stream(refused) if "temperature" in conversation.body else OK)(conversation)

    server.default = answer

    assert complete(server).text == '{"name": "X"}'
    assert len(server.requests) == 2


def test_what_was_learned_survives_a_failed_call(server: LlmServer) -> None:
    server.default = refusing("temperature", then=throttled())

    with pytest.raises(Unavailable):
        complete(server)
    server.default = refusing("temperature", then=OK)
    complete(server)

    assert [one.status for one in server.requests] == [400, 429, 200]


def test_what_was_learned_holds_for_that_model_only(server: LlmServer) -> None:
    server.default = refusing("temperature", then=OK)

    complete(server, name="one")
    complete(server, name="other")

    assert ["temperature" in one.body for one in server.requests] == [True, False, True, False]


def test_calls_at_the_same_time_learn_together(server: LlmServer) -> None:
    """What one call learns about one parameter is not undone by what another learns about the next."""
    server.default = refusing("temperature", "json_schema", "max_tokens", then=OK)

    async def several() -> None:
        model = client(server)
        await asyncio.gather(*(model.complete(ask()) for _ in range(4)))
        before = len(server.requests)
        await model.complete(ask())
        assert len(server.requests) == before + 1
        await model.close()

    asyncio.run(several())


def test_a_refusal_of_something_else_is_not_adapted_to(server: LlmServer) -> None:
    server.default = error(400, "Invalid role", param="messages[0].role", kind="invalid_request_error")

    with pytest.raises(Rejected, match=r"400 invalid_request_error"):
        complete(server)

    assert len(server.requests) == 1


def test_a_parameter_refused_though_it_was_not_sent_ends_the_call(server: LlmServer) -> None:
    server.default = status(400, {"error": {"message": "temperature is wrong", "param": "temperature"}})

    with pytest.raises(Rejected):
        complete(server)

    assert len(server.requests) == 2


def test_a_prompt_that_fits_only_without_room_for_the_answer(server: LlmServer) -> None:
    """vLLM counts the answer's limit into the context. A shorter prompt may keep its limit, so nothing is learned."""
    message = (
        "'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length is "
        "4096 tokens and your request has 3500 input tokens (1000 > 4096 - 3500)."
    )
    server.default = refusing("max_tokens", then=OK)

    async def answer(conversation: Exchange) -> None:
        await (error(400, message) if "max_tokens" in conversation.body else OK)(conversation)

    server.default = answer

    assert complete(server).text == '{"name": "X"}'
    assert ["max_tokens" in one.body for one in server.requests] == [True, False]
    complete(server)
    assert "max_tokens" in server.requests[2].body


def test_a_prompt_too_long_by_itself_is_not_sent_again(server: LlmServer) -> None:
    server.default = too_long()

    with pytest.raises(TooLong):
        complete(server)

    assert len(server.requests) == 1
