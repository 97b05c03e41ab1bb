"""A model server and settings of a test's own, for runs of the pipeline."""

from collections.abc import Callable, Iterator

import pytest

from base.settings import load
from tests.fakes.llm_enriching import enriching
from tests.fakes.llm_server import LlmServer, by_words

Set = Callable[..., None]


@pytest.fixture
def set_to(monkeypatch: pytest.MonkeyPatch) -> Iterator[Set]:
    """Set settings by their names without prefix: `set_to(llm__model="m")`; the step reads them when it runs."""

    def change(**values: object) -> None:
        for name, value in values.items():
            monkeypatch.setenv(f"LONGHAUL_{name.upper()}", str(value))
        load.cache_clear()

    yield change
    monkeypatch.undo()
    load.cache_clear()


@pytest.fixture
def model(set_to: Set) -> Iterator[LlmServer]:
    """A model that answers well until a test's script says otherwise; its tokens are words, which nobody guesses."""
    with LlmServer(enriching(), count=by_words) as server:
        set_to(
            llm__base_url=server.url,
            llm__model="scripted",
            semantic_enrichment__retry_delay_seconds=0,
        )
        yield server
