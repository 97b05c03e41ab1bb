"""`runs`: what enrichment runs did, and how one is stopped."""

from pathlib import Path

import pytest

from base.ids import uuid7
from base.terminal.exits import Exit
from tests.cli.running import longhaul, on
from tests.cli.scene import definition, mappings
from tests.services.postgres import Clone


@pytest.fixture
def run_id(clone: Clone, tmp_path: Path) -> str:
    """A run that ended well."""
    done = longhaul("enrich", definition(tmp_path), "--json", env=on(clone), cwd=tmp_path)
    assert done.code == Exit.DONE, done.said
    return str(done.json["run"]["id"])


def test_the_list_shows_the_run(clone: Clone, run_id: str) -> None:
    done = longhaul("runs", "list", "--mapping", "Orders", "--state", "completed", env=on(clone))
    assert done.code == Exit.DONE, done.said
    heading, row = done.out.splitlines()
    assert heading.split()[:2] == ["run", "state"]
    assert row.split()[:2] == [run_id, "Completed"]
    assert longhaul("runs", "list", "--state", "failed", "--json", env=on(clone)).json["runs"] == []


def test_a_run_shows_its_passes(clone: Clone, run_id: str) -> None:
    shown = longhaul("runs", "show", run_id, "--json", env=on(clone)).json
    assert shown["run"]["id"] == run_id
    assert len(shown["passes"]) == shown["run"]["total_items"]
    read = longhaul("runs", "show", run_id, env=on(clone))
    assert run_id in read.out
    assert "overview" in read.out


def test_a_run_that_ended_is_not_canceled(clone: Clone, run_id: str) -> None:
    before = mappings(clone)
    done = longhaul("runs", "cancel", run_id, env=on(clone))
    assert done.code == Exit.FAILED
    assert "has already ended" in done.out
    assert longhaul("runs", "cancel", run_id, "--json", env=on(clone)).json["answer"] == "already_ended"
    assert mappings(clone) == before


def test_a_run_that_is_not_there_is_one_sentence(clone: Clone) -> None:
    for verb in ("show", "cancel"):
        done = longhaul("runs", verb, str(uuid7()), env=on(clone))
        assert done.code == Exit.USAGE
        assert done.err.startswith("There is no run ")
        assert len(done.err.splitlines()) == 1
