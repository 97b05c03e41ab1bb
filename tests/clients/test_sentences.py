"""What a person reads of a failed call: what happened and what to do, as the ledger keeps it."""

import re
from typing import Any

import pytest
from pydantic import SecretStr

from clients.llm.errors import ModelFailure
from clients.llm.wire import exchange
from ledger.scrubbing import storable
from tests.clients.asking import KEY, complete
from tests.fakes.llm_replies import (
    Answer,
    bytes_of,
    error,
    forbidden,
    hung_up,
    out_of_quota,
    overloaded,
    prompt_filtered,
    raw,
    redirect,
    stalled,
    status,
    throttled,
    too_long,
    unauthorized,
    unknown_model,
    web_page,
)
from tests.fakes.llm_server import LlmServer, Reply

LONG = Answer("x" * 3000, stall_after=100)

CASES = [
    ("500", status(500), "try again later"),
    ("502", web_page(502), "try again later"),
    ("503", overloaded(), "try again later"),
    ("429", throttled(), "LONGHAUL_LLM__MAX_CONCURRENT_COMPLETIONS"),
    ("400", error(400, "no"), "its log may say why"),
    ("401", unauthorized(), "LONGHAUL_LLM__API_KEY"),
    ("402", out_of_quota(), "top the account up"),
    ("403", forbidden(), "LONGHAUL_LLM__MODEL"),
    ("404", unknown_model(), "LONGHAUL_LLM__BASE_URL"),
    ("redirect", redirect("https://elsewhere.invalid/v1"), "LONGHAUL_LLM__BASE_URL"),
    ("filter", prompt_filtered(), "another LONGHAUL_LLM__MODEL"),
    ("too long", too_long(), "LONGHAUL_SEMANTIC_ENRICHMENT__MAX_PROMPT_CHARACTERS"),
    ("timeout", stalled(), "LONGHAUL_SEMANTIC_ENRICHMENT__TIMEOUT_SECONDS"),
    ("hung up", hung_up(), "Try again"),
    ("cut", Answer("x" * 100, cut_after=50), "Try again"),
    ("given up", Answer("{", finish="error"), "Try again"),
    ("silent", LONG, "Try again"),
    ("unreadable", raw({"choices": []}, "{not json"), "Try again"),
    ("web page", web_page(200), "LONGHAUL_LLM__BASE_URL"),
    ("other json", bytes_of(b'{"ok": 1}', content_type="application/json"), "LONGHAUL_LLM__BASE_URL"),
]


def _said(server: LlmServer | str, **options: Any) -> str:
    with pytest.raises(ModelFailure) as caught:
        complete(server, **options)
    return str(caught.value)


def _is_for_a_person(sentence: str) -> None:
    assert storable(sentence) == sentence
    assert not re.search(r"[a-z](Error|Exception|Timeout)\b", sentence), "a class of ours or of a library"


@pytest.mark.parametrize(("reply", "to_do"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
@pytest.mark.parametrize("key", [None, SecretStr(KEY)], ids=["no key", "key"])
def test_a_failure_says_what_to_do(
    server: LlmServer, monkeypatch: pytest.MonkeyPatch, reply: Reply, to_do: str, key: SecretStr | None
) -> None:
    monkeypatch.setattr(exchange, "IDLE_SECONDS", 0.1)
    server.default = reply

    sentence = _said(server, timeout=0.4, api_key=key)

    assert to_do in sentence
    _is_for_a_person(sentence)


@pytest.mark.parametrize("proxied", [False, True])
def test_nobody_to_ask_says_what_to_look_at(proxied: bool) -> None:
    with LlmServer(web_page(403)) as server:
        url, proxy = server.url, SecretStr(server.url)
        sentence = _said("https://elsewhere.invalid/v1", proxy=proxy) if proxied else ""
    sentence = sentence or _said(url)

    assert ("LONGHAUL_LLM__PROXY" if proxied else "LONGHAUL_LLM__BASE_URL") in sentence
    _is_for_a_person(sentence)
