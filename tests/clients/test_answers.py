"""Answers that came: whole or in pieces, complete or not, and how they are to be read."""

import pytest

from clients.llm.errors import Unavailable, Unreachable
from clients.llm.wire import exchange
from tests.clients.asking import QUESTION, SYSTEM, ask, complete, sent_format
from tests.fakes.llm_replies import (
    Answer,
    bytes_of,
    empty,
    filtered,
    hung_up,
    null_content,
    raw,
    refusal,
    unstreamed,
    web_page,
    without_choices,
)
from tests.fakes.llm_server import LlmServer, Reply


def chunk(delta: object, finish: str | None = None) -> dict[str, object]:
    return {"choices": [{"delta": delta, "finish_reason": finish}]}


def test_a_streamed_answer(server: LlmServer) -> None:
    answer = complete(server)

    assert answer.text == '{"name": "Active permits"}'
    assert answer.finish == "stop"
    assert answer.warnings == ()


def test_the_request_says_what_was_asked_for(server: LlmServer) -> None:
    complete(server, ask(schema_name="names of fields!"))

    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.body == {
        "model": "scripted",
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 1000,
        "temperature": 0.2,
        "response_format": {
            "type": "json_schema",
            "json_schema": {
                "name": "names_of_fields_",
                "strict": True,
                "schema": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}},
                    "required": ["name"],
                    "additionalProperties": False,
                },
            },
        },
    }


def test_without_a_temperature_none_is_sent(server: LlmServer) -> None:
    complete(server, ask(temperature=None))

    assert "temperature" not in server.requests[0].body


def test_a_server_that_does_not_stream(server: LlmServer) -> None:
    server.then(unstreamed('{"name": "X"}'))

    assert complete(server).text == '{"name": "X"}'


@pytest.mark.parametrize(
    ("said", "finish"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("content_filter", "filtered"),
        ("eos", "stop"),
        ("tool_calls", "stop"),
    ],
)
def test_how_an_answer_ended(server: LlmServer, said: str, finish: str) -> None:
    server.then(Answer("{", finish=said))

    assert complete(server).finish == finish


@pytest.mark.parametrize("said", ["error", "abort", "insufficient_system_resource"])
def test_an_answer_the_server_gave_up_is_no_answer(server: LlmServer, said: str) -> None:
    server.then(Answer("{", finish=said))

    with pytest.raises(Unavailable, match="broke off"):
        complete(server)


def test_an_answer_cut_at_the_token_limit_says_so(server: LlmServer) -> None:
    server.then(Answer("word " * 400))

    answer = complete(server, ask(max_completion_tokens=50))

    assert answer.finish == "length"
    assert answer.usage.output_tokens == 50


def test_a_model_that_spent_its_budget_on_thinking(server: LlmServer) -> None:
    server.then(null_content("length"))

    assert complete(server).finish == "length"


def test_a_refusal_is_filtered_and_its_words_are_kept(server: LlmServer) -> None:
    server.then(refusal("I won't."))

    answer = complete(server)

    assert (answer.finish, answer.text) == ("filtered", "I won't.")


def test_a_filter_that_strikes_while_answering(server: LlmServer) -> None:
    server.then(filtered('{"na'))

    assert complete(server).finish == "filtered"


def test_done_without_a_finish_reason_is_an_end(server: LlmServer) -> None:
    server.then(Answer("{}", finish=None))

    assert complete(server).finish == "stop"


def test_a_finish_reason_without_done_is_an_end(server: LlmServer) -> None:
    server.then(Answer("{}", done=False))

    assert complete(server).text == "{}"


def test_a_stream_that_just_ends_is_no_answer(server: LlmServer) -> None:
    server.then(Answer("{}", finish=None, done=False))

    with pytest.raises(Unavailable, match="broke off"):
        complete(server)


def test_a_connection_cut_before_the_end_is_no_answer(server: LlmServer) -> None:
    server.then(Answer('{"name": "Active permits"}', cut_after=10))

    with pytest.raises(Unavailable, match="broke"):
        complete(server)


def test_a_connection_cut_after_the_finish_reason_does_no_harm(server: LlmServer) -> None:
    server.then(Answer("{}", after_finish="cut"))

    answer = complete(server)

    assert answer.text == "{}"
    assert answer.usage.estimated


def test_a_server_that_never_closes_is_not_waited_for(server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "LINGER_SECONDS", 0.05)
    server.then(Answer("{}", after_finish="silence"))

    assert complete(server).text == "{}"


def test_a_server_that_hangs_up_without_a_word(server: LlmServer) -> None:
    server.then(hung_up())

    with pytest.raises(Unavailable, match="broke") as failure:
        complete(server)

    assert failure.value.usage.total_tokens == 0


def test_nobody_listens(server: LlmServer) -> None:
    with LlmServer(Answer()) as gone:
        url = gone.url

    with pytest.raises(Unreachable, match="can't be reached"):
        complete(url)


def test_chunks_with_everything_missing_or_null(server: LlmServer) -> None:
    server.then(
        raw(
            {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
            {"choices": None},
            {"choices": [None]},
            {"choices": [{"delta": None}]},
            {"choices": [{}], "usage": None, "error": None},
            chunk({"content": None, "role": "assistant"}),
            chunk({"content": "{}"}),
            chunk({"content": ""}, "stop"),
            {"choices": []},
            {"usage": {"prompt_tokens": 7, "completion_tokens": 2}},
            "[DONE]",
        )
    )

    answer = complete(server)

    assert answer.text == "{}"
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (7, 2)


def test_content_in_parts(server: LlmServer) -> None:
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": '{"a'}, {"type": "text", "text": '":1}'}]
    server.then(raw(chunk({"content": parts}, "stop"), "[DONE]"))

    assert complete(server).text == '{"a":1}'


def test_a_character_sent_in_two_halves(server: LlmServer) -> None:
    halves = [rb"\ud83d", rb"\ude00", rb"\ud83d"]
    lines = [b'data: {"choices":[{"delta":{"content":"%b"}}]}\n\n' % half for half in halves]
    server.then(bytes_of(*lines, b"data: [DONE]\n\n"))

    assert complete(server).text == "\N{GRINNING FACE}\N{REPLACEMENT CHARACTER}"


def test_rough_streams(server: LlmServer) -> None:
    server.then(
        bytes_of(
            b": OPENROUTER PROCESSING\r\n\r\n",
            b'data:{"choices":[{"delta":{"content":"{}"}}]}\r\n\r\ndata: \r\n\r\n',
            b'event: message\r\ndata: {"choices":\r\ndata: [{"delta":{},"finish_reason":"stop"}]}\r\n\r\n',
            b"data: [DONE]\r\n\r\n<!-- garbage -->\r\ndata: {\r\n\r\n",
        )
    )

    assert complete(server).text == "{}"


def test_junk_in_the_middle_is_no_answer(server: LlmServer) -> None:
    server.then(raw(chunk({"content": "{"}), "{not json", chunk({"content": "}"}, "stop"), "[DONE]"))

    with pytest.raises(Unavailable, match="unreadable"):
        complete(server)


def test_junk_after_the_end_does_no_harm(server: LlmServer) -> None:
    server.then(raw(chunk({"content": "{}"}, "stop"), "{not json", {"error": {"message": "late"}}, "[DONE]"))

    assert complete(server).text == "{}"


def test_a_web_page_where_an_answer_should_be(server: LlmServer) -> None:
    server.then(web_page(200))

    with pytest.raises(Unreachable, match="web page: check LONGHAUL_LLM__BASE_URL"):
        complete(server)


@pytest.mark.parametrize(
    "body", [b'{"status": "ok"}', b'{"choices": [{"mess', b"[]", b"", b"[" * 100_000], ids=lambda body: body[:20]
)
def test_json_that_is_no_answer(server: LlmServer, body: bytes) -> None:
    server.then(bytes_of(body, content_type="application/json"))

    with pytest.raises(Unavailable):
        complete(server)


def test_an_endless_answer_is_cut_off(server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_LARGEST_ANSWER_BYTES", 10_000)
    server.then(Answer("x" * 4000, piece=50))

    with pytest.raises(Unavailable, match="without end"):
        complete(server)


def test_tokens_are_told_while_they_arrive(server: LlmServer) -> None:
    told: list[int] = []
    server.then(Answer("y" * 40, thinking="x" * 40, piece=10))

    complete(server, on_tokens=told.append)

    assert told == sorted(told)
    assert {3, 5, 10, 13, 20} <= set(told)
    assert told[-1] == 20


@pytest.mark.parametrize("reply", [empty(), without_choices()])
def test_an_empty_answer_is_one_request_and_teaches_nothing(server: LlmServer, reply: Reply) -> None:
    server.default = reply

    answer, _ = complete(server), complete(server)

    assert (answer.text, answer.finish) == ("", "stop")
    assert answer.usage.input_tokens == server.requests[0].input_tokens > 0
    assert [sent_format(one) for one in server.requests] == ["json_schema"] * 2


def test_the_form_can_be_left_to_the_prompt(server: LlmServer) -> None:
    """Some servers answer nothing under any response_format (watsonx)."""
    complete(server, ask(enforced=False))
    complete(server)

    assert [sent_format(one) for one in server.requests] == [None, "json_schema"]


def test_a_model_lost_in_blanks_is_stopped_and_its_text_is_to_be_read(server: LlmServer) -> None:
    """vLLM under a schema: blanks until the token limit. Splitting the question would cure nothing."""
    server.default = Answer('{"name": ' + "\n  " * 5000, piece=100, pace=0.001)

    answer = complete(server, ask(max_completion_tokens=8192))

    assert (answer.finish, answer.text.strip()) == ("stop", '{"name":')
    assert len(server.requests) == 1
    assert len(server.requests[0].sent) < 15_000


def test_indented_json_is_not_mistaken_for_blanks(server: LlmServer) -> None:
    text = "{" + "\n        ".join(f'"f{n}": null,' for n in range(200)) + "}"
    server.then(Answer(text))

    assert complete(server, ask(max_completion_tokens=8192)).text == text
