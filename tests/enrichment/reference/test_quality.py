"""The quality bench measures what it says, and its bars hold on the repository's own documents."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench import quality_documents as documents
from bench import quality_measures as measures

ROOT = Path(__file__).parents[3]


def bench(*options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(ROOT / "bench" / "enrichment_quality.py"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.usefixtures("postgres")
def test_the_bars_hold_on_the_example() -> None:
    done = bench("--only", "epa-cwa")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "LOW" not in done.stdout
    assert "| epa-cwa | yes | described names the dictionary covers | 228 |" in done.stdout
    assert "n = 3368" in done.stdout
    assert "n = 530: " in done.stdout, (
        "the figure that no faithful answer can raise is told beside those that are judged"
    )


def test_a_document_that_is_nowhere_is_reported_as_absent(tmp_path: Path) -> None:
    done = bench("--only", "fec", "--data", str(tmp_path))
    assert "fec: not measured, fec.json is in none of the folders." in done.stdout


def test_stripping_takes_every_text_and_no_name() -> None:
    path = ROOT / "examples" / "epa-cwa.json"
    whole = documents.inventory(path.read_bytes(), path.name)
    bare = documents.inventory(documents.stripped(path), path.name)
    assert [one.key for one in bare.operations] == [one.key for one in whole.operations]
    for before, after in zip(whole.operations, bare.operations, strict=True):
        assert (after.summary, after.description) == ("", "")
        assert [(one.key, one.values) for one in after.outputs] == [(one.key, one.values) for one in before.outputs]
        assert not any(one.title or one.description for one in (*after.inputs, *after.outputs))


def test_stripping_keeps_properties_that_are_called_like_texts(tmp_path: Path) -> None:
    schema = {"title": "gone", "properties": {"title": {"description": "gone"}, "x-id": {"enum": [{"title": "kept"}]}}}
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"openapi": "3.0.0", "info": {}, "paths": {}, "components": {"schemas": {"a": schema}}}))
    assert json.loads(documents.stripped(path))["components"]["schemas"]["a"] == {
        "properties": {"title": {}, "x-id": {"enum": [{"title": "kept"}]}}
    }


def test_the_same_token_means_another_thing_on_every_obfuscated_endpoint() -> None:
    path = ROOT / "examples" / "epa-cwa.json"
    made = documents.obfuscated(documents.inventory(path.read_bytes(), path.name))
    of_first = [text for (_, token), text in made.meanings.items() if token == "field001"]
    assert len(of_first) > 3
    assert len(set(of_first)) > 3


@pytest.mark.parametrize(
    ("said", "gold", "score"),
    [
        ("Customer Number", "customer numbers", 1.0),
        ("the number of the customer", "Customer Number", 1.0),
        ("Customer", "Customer Number", 2 / 3),
        ("", "Customer Number", 0.0),
        ("Order", "Customer Number", 0.0),
    ],
)
def test_f1_counts_words(said: str, gold: str, score: float) -> None:
    assert measures.f1(said, gold) == pytest.approx(score)


def test_exact_ignores_case_and_white_space_only() -> None:
    assert measures.exact(" customer  Number", "Customer Number") == 1.0
    assert measures.exact("Customer Numbers", "Customer Number") == 0.0


def test_the_interval_holds_the_mean_and_never_changes() -> None:
    differences = [0.0, 0.5, 0.25, -0.1] * 20
    low, high = measures.interval(differences)
    assert low < measures.mean(differences) < high
    assert measures.interval(differences) == (low, high)
    assert measures.interval([]) == (0.0, 0.0)
