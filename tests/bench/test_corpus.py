"""The corpus bench: what it runs, what it prints, and when it says that something is wrong."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bench import corpus
from tests.enrichment.definition.documents import DATA, bytes_of, giving
from tests.services.postgres import Postgres


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "definitions"
    place.mkdir()
    (place / "shop.json").write_bytes(bytes_of(giving({"properties": {"custNo": {"type": "string"}}})))
    shutil.copy(DATA / "yamlbomb-malicious.yaml", place)
    (place / "ref-shop.json").write_text("{}")
    (place / "NOTES.txt").write_text("none of these")
    return place


def test_a_folder_is_run_file_by_file(folder: Path, postgres: Postgres, capsys: pytest.CaptureFixture[str]) -> None:
    assert corpus.main([str(folder)]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("| shop", "| yamlbomb"))]
    shop, bomb = ([cell.strip() for cell in row.strip("|").split("|")] for row in rows)
    assert shop[:4] == ["shop.json", "1", "1", "0"]
    assert int(shop[5]) > 0
    assert shop[-1] == "done"
    assert bomb[1:6] == [""] * 5
    assert bomb[-1] == "refused"


def test_what_is_no_definition_is_passed_over(folder: Path) -> None:
    assert [path.name for path in corpus.definitions(folder)] == ["shop.json", "yamlbomb-malicious.yaml"]


def judged(folder: Path, *, code: int = 0, refused: tuple[str, ...] = (), **run: Any) -> corpus.Row:
    """How a run of shop.json that ended so is judged."""
    told = {"state": "Completed", "reason": None, "error": None, "targets": ["x"], "counts": {"x": 3}, "total_items": 2}
    out = json.dumps({"run": told | run}) if code in {0, 1, 3} else ""
    ran = corpus.Ran(code, out, "shop.json is no API definition.", 1.0, 90_000_000)
    return corpus.judged(folder / "shop.json", ran, refused)


@pytest.mark.parametrize(
    ("run", "end", "wrong"),
    [
        ({}, "done", ""),
        ({"reason": "partial", "code": 3}, "partial", ""),
        ({"state": "Failed", "reason": "nothing_to_apply", "counts": {}, "code": 1}, "nothing_to_apply", ""),
        ({"counts": {"not_asked": 9}}, "done", "Completed with 0 suggestions"),
        ({"state": "Failed", "reason": "all_chunks_failed", "error": "No chunk was answered."}, "all_chunks_failed",
         "No chunk was answered."),
        ({"refused": ("shop.json",)}, "done", "it should have been refused"),
        ({"code": 2, "refused": ("shop.json",)}, "refused", ""),
        ({"code": 2}, "refused", "shop.json is no API definition."),
        ({"code": -9}, "exit code -9", "shop.json is no API definition."),
    ],
)  # fmt: skip
def test_an_end_is_judged(folder: Path, run: dict[str, Any], end: str, wrong: str) -> None:
    row = judged(folder, **run)
    assert (row.end, row.wrong) == (end, wrong)


def test_an_empty_folder_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert corpus.main([str(tmp_path)]) == 2
    assert "No .json" in capsys.readouterr().err
