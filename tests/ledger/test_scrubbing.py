"""Stored errors hold no secrets, no addresses and no novels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.llm.wire.refusals import _REMEDIES
from ledger.scrubbing import storable

SECRET = "s3cr3tS3cr3tS3cr3tX"


@pytest.mark.parametrize(
    "said",
    [
        f"connection to postgresql://longhaul:{SECRET}@db.example:5432/longhaul failed",
        f"amqp://guest:{SECRET}@rabbit/%2f",
        f"amqp://guest:p@{SECRET}@rabbit/",
        f"Authorization: Bearer {SECRET}",
        f"{{'authorization': 'Bearer {SECRET}'}}",
        f"Authorization: Basic {SECRET}==",
        f"api-key: {SECRET}",
        f"x-api-key={SECRET}",
        f'{{"api_key": "{SECRET}", "model": "m"}}',
        f"apikey={SECRET}&q=1",
        f"https://host/path?token={SECRET}&x=1",
        f"https://host/path?x=1&sig={SECRET}",
        f"password={SECRET} host=db",
        f"PASSWORD: {SECRET}",
        f"client_secret={SECRET}",
        f"Incorrect API key provided: sk-proj-{SECRET}. Find yours at the console.",
        f"AKIA{SECRET.upper()}",
        f"token eyJhbGciOi.{SECRET}.{SECRET}",
        f"key 4f2a{'9b' * 20}{SECRET.encode().hex()} refused",
    ],
)
def test_secrets_are_hidden(said: str) -> None:
    stored = storable(said)
    assert SECRET.lower() not in stored.lower()
    assert SECRET.encode().hex() not in stored
    assert "***" in stored


def test_addresses_are_hidden() -> None:
    assert storable("no mailbox jane.doe+x@mail.example.org here") == "no mailbox *** here"


@pytest.mark.parametrize(
    "said",
    [
        "429 Too Many Requests: retry after 20 s",
        "The answer is no JSON: Expecting value: line 1 column 1 (char 0)",
        "Chunk 15 of 29 failed: GET /cwa_rest_services.get_facilities",
        "run 01a22e58-d33d-7eaa-ba60-ef42950b898c is gone",
        "finish_reason=length after 8192 tokens",
    ],
)
def test_plain_words_stay(said: str) -> None:
    assert storable(said) == said


def test_an_error_without_words_is_named() -> None:
    assert storable(KeyError()) == "KeyError"
    assert storable("  ") == "It failed without saying why."


@given(st.text(st.characters(), max_size=3000))
def test_anything_can_be_stored(said: str) -> None:
    stored = storable(said)
    assert 1 <= len(stored) <= 500
    assert "\x00" not in stored
    stored.encode()


@pytest.mark.parametrize("sentence", _REMEDIES.values())
def test_what_to_do_about_a_refusing_model_stays_readable(sentence: str) -> None:
    assert storable(sentence) == sentence
