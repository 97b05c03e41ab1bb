"""`runs`: what enrichment runs did, and how one is stopped."""

from pathlib import Path
from uuid import UUID

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


def test_a_run_shows_what_it_was_asked(clone: Clone, tmp_path: Path) -> None:
    words = ("--only-missing", "--target", "output-field-names", "--instructions", "Be brief.")
    done = longhaul("enrich", definition(tmp_path), *words, "--json", env=on(clone), cwd=tmp_path)
    shown = longhaul("runs", "show", done.json["run"]["id"], "--json", env=on(clone)).json
    assert shown["asked"] == {
        "--target": "output-field-names",
        "--instructions": "Be brief.",
        "--only-missing": "yes",
    }
    read = longhaul("runs", "show", done.json["run"]["id"], env=on(clone)).out
    assert "--instructions  Be brief." in read


def test_what_is_no_id_is_one_sentence() -> None:
    for words in (("runs", "show", "nope"), ("jobs", "show", "nope"), ("runs", "list", "--before", "nope")):
        done = longhaul(*words)
        assert done.code == Exit.USAGE
        assert "`nope` is no id" in done.err
        assert len(done.err.splitlines()) == 1


def test_a_run_shows_its_passes(clone: Clone, run_id: str) -> None:
    shown = longhaul("runs", "show", run_id, "--json", env=on(clone)).json
    assert shown["run"]["id"] == run_id
    assert len(shown["passes"]) == shown["run"]["total_items"]
    read = longhaul("runs", "show", run_id, env=on(clone))
    assert run_id in read.out
    assert "overview" in read.out


def test_a_finished_run_gives_its_files_again(clone: Clone, run_id: str, tmp_path: Path) -> None:
    made = {path.name: path.read_bytes() for path in (tmp_path / "longhaul-out").rglob("*.json")}
    again = tmp_path / "again"
    done = longhaul("runs", "export", run_id, "--out", again, env=on(clone))
    assert done.code == Exit.DONE, done.said
    assert len(made) == 2
    assert {path.name: path.read_bytes() for path in again.iterdir()} == made


def test_files_that_can_not_be_written_leave_the_earlier_ones_whole(clone: Clone, run_id: str, tmp_path: Path) -> None:
    out = tmp_path / "taken"
    assert longhaul("runs", "export", run_id, "--out", out, env=on(clone)).code == Exit.DONE
    enriched, overlay = sorted(out.iterdir())
    overlay.unlink()
    # Nothing can be written there: the overlay's unfinished file meets a folder of its name.
    overlay.with_name(f"{overlay.name}.{UUID(run_id).hex}.part").mkdir()
    enriched.write_text("an earlier one")
    done = longhaul("runs", "export", run_id, "--out", out, env=on(clone))
    assert done.code == Exit.USAGE
    assert f"./longhaul runs export {run_id} --out FOLDER" in done.err
    assert enriched.read_text() == "an earlier one"
    assert not overlay.exists()


def test_a_run_that_ended_is_not_canceled(clone: Clone, run_id: str) -> None:
    before = mappings(clone)
    done = longhaul("runs", "cancel", run_id, env=on(clone))
    assert done.code == Exit.FAILED
    assert "has already ended" in done.out
    assert longhaul("runs", "cancel", run_id, "--json", env=on(clone)).json["answer"] == "already_ended"
    assert mappings(clone) == before


def test_a_run_that_is_not_there_is_one_sentence(clone: Clone) -> None:
    for verb in ("show", "export", "cancel"):
        done = longhaul("runs", verb, str(uuid7()), env=on(clone))
        assert done.code == Exit.USAGE
        assert done.err.startswith("There is no run ")
        assert len(done.err.splitlines()) == 1
