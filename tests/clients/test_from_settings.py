"""Which model the settings mean, and what a probe tells about it."""

import asyncio

import pytest
from pydantic import SecretStr

from base.errors import Misconfigured
from base.settings import Llm, SemanticEnrichment, Settings
from clients.llm import from_settings
from clients.llm.offline import OfflineModel
from clients.llm.openai import OpenAIModel
from clients.llm.probe import Probe, probe
from tests.clients.asking import KEY, ask, with_client
from tests.fakes.llm_replies import overloaded, prose, stalled, unauthorized
from tests.fakes.llm_server import LlmServer


def configured(base_url: str, **changes: object) -> Settings:
    return Settings(llm=Llm(**({"base_url": base_url, "model": "scripted"} | changes)))


def test_nothing_configured_means_offline() -> None:
    assert isinstance(from_settings(Settings()), OfflineModel)


def test_offline_can_be_asked_for_by_name() -> None:
    assert isinstance(from_settings(configured("http://127.0.0.1:9/v1"), "offline"), OfflineModel)


def test_a_model_without_an_api_is_refused() -> None:
    with pytest.raises(Misconfigured, match="set LONGHAUL_LLM__BASE_URL"):
        from_settings(Settings(), "gpt-x")


def test_the_configured_model(server: LlmServer) -> None:
    settings = configured(server.url, api_key=SecretStr(KEY), api_key_header="api-key")

    async def run() -> None:
        model = from_settings(settings)
        assert isinstance(model, OpenAIModel)
        assert (model.provider, model.name) == (server.url.split("/")[2], "scripted")
        await model.complete(ask())
        await model.close()
        await model.close()

    asyncio.run(run())

    assert server.requests[0].headers["api-key"] == KEY


def test_another_model_at_the_same_api(server: LlmServer) -> None:
    async def run() -> None:
        model = from_settings(configured(server.url), "other")
        await model.complete(ask())
        await model.close()

    asyncio.run(run())

    assert server.requests[0].body["model"] == "other"


def test_the_time_limit_is_the_settings(server: LlmServer) -> None:
    server.default = stalled()
    settings = configured(server.url).model_copy(
        update={"semantic_enrichment": SemanticEnrichment(timeout_seconds=0.2)}
    )

    async def run() -> None:
        model = from_settings(settings)
        with pytest.raises(Exception, match=r"within 0\.2 s"):
            await model.complete(ask())
        await model.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("base", "path"),
    [
        ("/v1", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("", "/chat/completions"),
        ("/openai/v1", "/openai/v1/chat/completions"),
        (
            "/openai/deployments/d?api-version=2024-06-01",
            "/openai/deployments/d/chat/completions?api-version=2024-06-01",
        ),
    ],
)
def test_where_completions_live(server: LlmServer, base: str, path: str) -> None:
    with_client(server.url.removesuffix("/v1") + base, lambda model: model.complete(ask()))

    assert server.requests[0].path == path


def test_a_model_that_answers(server: LlmServer) -> None:
    server.default = prose()

    found = with_client(server, probe)

    assert found == Probe("answers", f"scripted at {server.url.split('/')[2]} answers.")
    assert server.requests[0].body["max_tokens"] == 16


def test_a_model_that_refuses(server: LlmServer) -> None:
    server.default = unauthorized()

    found = with_client(server, probe)

    assert found.state == "refuses"
    assert "LONGHAUL_LLM__API_KEY" in found.sentence


def test_a_model_that_is_busy(server: LlmServer) -> None:
    server.default = overloaded()

    assert with_client(server, probe).state == "unavailable"


def test_a_model_that_does_not_answer_in_time(server: LlmServer) -> None:
    server.default = stalled()

    found = with_client(server, lambda model: probe(model, seconds=0.2))

    assert (found.state, "within 0.2 s" in found.sentence) == ("unavailable", True)


def test_the_offline_model_needs_no_asking() -> None:
    assert asyncio.run(probe(OfflineModel())).state == "answers"
