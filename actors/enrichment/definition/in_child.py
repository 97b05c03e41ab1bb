"""What runs in the child process: imports what reading needs, and nothing of the application."""

from collections.abc import Collection, Sequence
from dataclasses import astuple
from typing import Any

from actors.enrichment.definition.enriched import write
from actors.enrichment.definition.reading import read
from actors.enrichment.definition.recognising import spec_version
from actors.enrichment.definition.walking import inventory
from actors.enrichment.definition.written import Written
from base.errors import BadInput


def read_inventory(data: bytes, name: str, limit: int) -> bytes:
    """The inventory of a definition as JSON.

    Raises:
        BadInput: no definition that can be read, or one without operations.
    """
    source = read(data, name, limit)
    found = inventory(source.root, spec_version(source), source.media)
    if not found.operations:
        why = "its `paths` hold none" if source.root.get("paths") else "its `paths` are missing or empty"
        raise BadInput(
            f"{name} has no operations, so there is nothing to enrich: {why}. Give one with a path and a method."
        )
    return found.model_dump_json(exclude_defaults=True).encode()


def write_enriched(
    data: bytes, name: str, written: Sequence[Written], selected: Collection[str] | None
) -> dict[str, Any]:
    """What `enriched.write` makes, as plain values."""
    made = write(data, name, written, selected)
    return {
        "document": made.document,
        "overlay": made.overlay,
        "media": made.media,
        "warnings": [(warning.code, warning.text) for warning in made.warnings],
        "conflicts": [astuple(conflict) for conflict in made.conflicts],
    }
