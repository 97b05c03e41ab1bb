"""One enrichment as a person would run it: the command line, the embedded database, the offline model, the export."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.quality_documents import inventory

ROOT = Path(__file__).resolve().parent.parent
_CAPS = "LONGHAUL_SEMANTIC_ENRICHMENT__MAX_FIELDS_PER_"
#: Every field is asked, in chunks as large as they come: how many a run may ask at a time is another question.
_SETTINGS = {
    f"{_CAPS}REQUEST_BODY": "100000",
    f"{_CAPS}RESPONSE_STATUS": "100000",
    "LONGHAUL_SEMANTIC_ENRICHMENT__MAX_PROMPT_CHARACTERS": "10000000",
    "LONGHAUL_LLM__MAX_COMPLETION_TOKENS": "10000000",
}
#: The command's own codes: all done, done with warnings.
_APPLIED = (0, 3)


@dataclass(frozen=True)
class Enriched:
    """What the enriched document says, by (operation key, field key); an endpoint's name under an empty field key."""

    names: Mapping[tuple[str, str], str]
    descriptions: Mapping[tuple[str, str], str]


class EnrichmentFailed(Exception):
    """The command applied nothing; its own words say why."""


class CommandLine:
    """Runs `enrich` on a database of its own below `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runs = 0

    def enriched(self, definition: bytes, references: Sequence[tuple[str, str]]) -> Enriched:
        """All texts of a definition without any, enriched with these references (name, text)."""
        self._runs += 1
        work = self._folder / f"run{self._runs}"
        work.mkdir()
        # Other bytes are another mapping: no run is to find the texts of an earlier one.
        (work / "definition.json").write_bytes(definition + b"\n" * self._runs)
        options: list[str] = []
        for name, text in references:
            (work / name).write_text(text, "utf-8")
            options += ["--reference", str(work / name)]
        command = [sys.executable, "-m", "cli", "enrich", str(work / "definition.json"), *options]
        done = subprocess.run(
            [*command, "--out", str(work / "out"), "--json"],
            cwd=ROOT,
            env={"PATH": "/usr/bin:/bin", "LONGHAUL_HOME": str(self._folder / "home"), **_SETTINGS},
            capture_output=True,
            text=True,
            check=False,
        )
        written = work / "out" / "definition.enriched.json"
        if done.returncode not in _APPLIED:
            raise EnrichmentFailed(f"exit code {done.returncode}: {done.stdout}{done.stderr}")
        # Nothing to apply is a result too: then the document is as it was.
        return _texts(written.read_bytes() if written.exists() else definition)


def _texts(definition: bytes) -> Enriched:
    names: dict[tuple[str, str], str] = {}
    descriptions: dict[tuple[str, str], str] = {}
    for operation in inventory(definition, "enriched.json").operations:
        names[operation.key, ""] = operation.summary
        for field in (*operation.inputs, *operation.outputs):
            names[operation.key, field.key] = field.title
            descriptions[operation.key, field.key] = field.description
    return Enriched(names, descriptions)
