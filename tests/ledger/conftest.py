"""A scene per test: a database of its own with an account and a worker."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from schema.engine import Database
from tests.ledger.scene import REACTIONS, Reactions, Scene, scene_of
from tests.services.postgres import Clone


@pytest.fixture
def scene(database: Database, account_id: UUID, clone: Clone) -> Iterator[Scene]:
    set_up = scene_of(database, account_id, clone)
    yield set_up
    set_up.close()


@pytest.fixture
def reactions() -> Reactions:
    """What reactions see in this test."""
    REACTIONS.seen.clear()
    REACTIONS.refuse = False
    return REACTIONS
