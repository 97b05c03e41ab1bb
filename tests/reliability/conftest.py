"""Real worker processes, a real RabbitMQ, a model that counts: what it takes to see whether anything is paid twice."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.enrichment.conftest import model, set_to
from tests.reliability.figures import Figures
from tests.reliability.fleet import Fleet
from tests.services.postgres import Clone

__all__ = ["model", "set_to"]


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Figures:
    """Where a scenario leaves what it measured."""
    return Figures(kept=request.node.get_closest_marker("long") is not None)


@pytest.fixture
def fleet(rabbit: str, clone: Clone, tmp_path: Path) -> Iterator[Fleet]:
    """Workers of the lane `enrichment`, as many as a test starts."""
    started = Fleet(rabbit, clone, tmp_path)
    yield started
    started.kill_all()
