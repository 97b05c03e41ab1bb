"""The key travels in one header and shows up nowhere else; nor does the prompt, whatever the server echoes."""

import asyncio
import logging
import traceback
from pathlib import Path

import pytest
from pydantic import SecretStr

from base.errors import Misconfigured
from clients.llm.errors import ModelFailure
from clients.llm.openai import OpenAIModel
from clients.llm.probe import probe
from tests.clients.asking import KEY, QUESTION, SYSTEM, ask, client
from tests.fakes.llm_replies import (
    Answer,
    error_in_stream,
    hung_up,
    redirect,
    refusing,
    stalled,
    status,
    throttled,
    unauthorized,
    web_page,
)
from tests.fakes.llm_server import Exchange, LlmServer, Reply

PROMPTS = (QUESTION, SYSTEM)


async def echoing(conversation: Exchange) -> None:
    """Everything the client sent, in every field of an error."""
    said = f"{conversation.received.headers} {conversation.received.prompt}"
    error = {"message": said, "type": said, "code": KEY, "param": said, "innererror": {"code": QUESTION}}
    await status(400, {"error": error})(conversation)


async def ask_all(model: OpenAIModel, replies: int) -> list[str]:
    """Every text that an exception could put into a log or a row."""
    texts: list[str] = [repr(model), str(model)]
    for _ in range(replies):
        (outcome,) = await asyncio.gather(model.complete(ask()), return_exceptions=True)
        if isinstance(outcome, BaseException):
            assert isinstance(outcome, ModelFailure)
            assert outcome.__context__ is None, "httpx's exceptions hold the request, and with it the key"
            texts += [repr(outcome), *traceback.format_exception(outcome)]
    texts.append(repr(await probe(model)))
    await model.close()
    return texts


@pytest.mark.parametrize("header", ["authorization", "api-key"])
def test_neither_key_nor_prompt_in_logs_and_errors(
    server: LlmServer, header: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    replies: list[Reply] = [
        Answer("{}"),
        unauthorized(),
        echoing,
        throttled(),
        stalled(),
        hung_up(),
        web_page(502),
        Answer("{}", cut_after=1),
        error_in_stream({"message": f"{KEY} {QUESTION}", "code": KEY}),
        error_in_stream(f"{KEY} {QUESTION}"),
        refusing("temperature", then=Answer("{}")),
        Answer("{}"),
    ]
    server.then(*replies)
    model = client(server, api_key=SecretStr(KEY), api_key_header=header, timeout=0.5)

    texts = asyncio.run(ask_all(model, len(replies)))

    sent = server.requests[0].headers
    assert sent[header] == (KEY if header == "api-key" else f"Bearer {KEY}")
    assert not {"authorization", "api-key"} - {header} & sent.keys()
    out, err = capfd.readouterr()
    seen = [record.getMessage() for record in caplog.records] + [repr(vars(record)) for record in caplog.records]
    assert any("HTTP Request" in text for text in seen), "httpx's own log is part of what is searched"
    everything = "\n".join([*texts, *seen, out, err])
    for secret in (KEY, *PROMPTS):
        assert secret not in everything


@pytest.mark.parametrize("key", ["two words", "line\nbreak inside", "naïve", "tab\tbed"])
def test_a_key_that_can_not_be_sent_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(Misconfigured, match="LONGHAUL_LLM__API_KEY") as refused:
        client("http://127.0.0.1:9/v1", api_key=SecretStr(key))

    assert key not in "".join(traceback.format_exception(refused.value))


def test_a_key_read_from_a_file_may_end_in_a_line_break(server: LlmServer) -> None:
    asyncio.run(ask_all(client(server, api_key=SecretStr(f"{KEY}\n")), 1))

    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_redirect_takes_the_key_nowhere(server: LlmServer) -> None:
    with LlmServer(Answer()) as elsewhere:
        server.default = redirect(f"{elsewhere.url}/chat/completions")

        asyncio.run(ask_all(client(server, api_key=SecretStr(KEY)), 1))

        assert elsewhere.requests == []


def test_the_environment_does_not_send_prompts_elsewhere(
    server: LlmServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    with LlmServer(Answer()) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)

        asyncio.run(ask_all(client(server), 1))

        assert proxy.requests == []
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    "url", ["http://user:pass-word@host/v1", "host/v1", "ftp://host/v1", "http://", "http://[::1/v1"]
)
def test_a_base_url_that_can_not_be_used(url: str) -> None:
    with pytest.raises(Misconfigured, match="LONGHAUL_LLM__BASE_URL") as refused:
        client(url)

    assert "pass-word" not in str(refused.value)


def test_a_proxy_that_is_set_is_asked_and_its_password_is_told_to_nobody(server: LlmServer) -> None:
    with LlmServer(Answer()) as proxy:
        address = proxy.url.removesuffix("/v1").replace("http://", "http://user:pass-word@")

        model = client(server, proxy=SecretStr(address))
        asyncio.run(ask_all(model, 1))

        assert len(proxy.requests) == 2  # the question and the probe
        assert server.requests == []
    with pytest.raises(Misconfigured) as refused:
        client(server, proxy=SecretStr("pass-word@nowhere:x"))
    assert "pass-word" not in str(refused.value)
