"""What doctor shows of the settings: everything that is set, and no secret."""

import pytest

from base.settings import load, names
from cli.configured import configured, without_password


def test_nothing_set_is_nothing_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in names():
        monkeypatch.delenv(name, raising=False)
    load.cache_clear()
    assert configured(load()) == []


def test_what_is_set_is_shown_without_its_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in names():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LONGHAUL_DATABASE_URL", "postgresql://anna:hidden1@db.example:5433/longhaul?password=hidden2")
    monkeypatch.setenv("LONGHAUL_LLM__BASE_URL", "https://user:hidden3@llm.example/v1")
    monkeypatch.setenv("LONGHAUL_LLM__MODEL", "m")
    monkeypatch.setenv("LONGHAUL_LLM__API_KEY", "hidden4")
    monkeypatch.setenv("LONGHAUL_WORKER__DRAIN_GRACE", "PT90S")
    load.cache_clear()
    shown = dict(configured(load()))
    assert shown == {
        "LONGHAUL_DATABASE_URL": "postgresql://db.example:5433/longhaul",
        "LONGHAUL_LLM__BASE_URL": "https://llm.example/v1",
        "LONGHAUL_LLM__MODEL": "m",
        "LONGHAUL_LLM__API_KEY": "(a secret, set)",
        "LONGHAUL_WORKER__DRAIN_GRACE": "90 s",
    }
    load.cache_clear()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("amqp://guest:guest@localhost:5672/vhost", "amqp://localhost:5672/vhost"),
        ("postgresql://u:p@[::1]:5432/d", "postgresql://[::1]:5432/d"),
        ("postgresql+psycopg://role@/d?host=%2Fsocket", "postgresql+psycopg:///d"),
        ("postgresql://u:p@a:1,b:2/d", "(an address that can't be read)"),
        ("postgresql://u:hidden@[bad/d", "(an address that can't be read)"),
        ("u:hidden@host/d", "(an address that can't be read)"),
        ("u hidden", "(an address that can't be read)"),
    ],
)
def test_an_address_is_shown_without_who_and_how(url: str, shown: str) -> None:
    assert without_password(url) == shown
