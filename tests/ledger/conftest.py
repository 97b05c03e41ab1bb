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


@pytest.fixture
def long_up(scene: Scene) -> None:
    """A server that has been up for long: silence counts from its start, and the tests' own has just started."""
    scene.change(
        "CREATE FUNCTION public.pg_postmaster_start_time() RETURNS timestamptz LANGUAGE sql STABLE "
        "AS $$ SELECT timestamptz '2001-01-01 00:00+00' $$"
    )
    (name,) = scene.look("SELECT current_database() AS name")
    scene.change(f"ALTER DATABASE {name['name']} SET search_path = public, pg_catalog")
    scene.database.close()  # connections from here on see it
