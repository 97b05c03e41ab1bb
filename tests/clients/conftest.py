"""A scripted model server for each test, and a process that has learned nothing yet."""

from collections.abc import Iterator

import pytest

from clients.llm.wire import ladder
from tests.fakes.llm_replies import Answer
from tests.fakes.llm_server import LlmServer


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with LlmServer(Answer('{"name": "Active permits"}')) as running:
        yield running


@pytest.fixture(autouse=True)
def _nothing_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladder, "_known", {})
