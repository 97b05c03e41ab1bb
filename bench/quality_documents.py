"""What the quality bench is fed: definitions with their texts taken out, and one whose tokens say nothing at all."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from actors.enrichment.definition import walking
from actors.enrichment.definition.reading import Source, read
from actors.enrichment.definition.recognising import spec_version
from schema.enrichment.inventory import Inventory

LARGEST = 50_000_000
_TEXTS = frozenset(["title", "description", "summary", "externalDocs"])
#: Objects whose keys are names of the API's own, not keywords: `properties` may hold a property called `title`.
_NAMED_LIST = """
properties patternProperties definitions schemas parameters responses requestBodies headers paths content
securitySchemes securityDefinitions callbacks links $defs dependentSchemas
"""
_NAMED = frozenset(_NAMED_LIST.split())
#: Values, not schemas.
_VALUES = frozenset(["example", "examples", "default", "enum", "const", "required"])
#: Fields of one obfuscated endpoint.
_OBFUSCATED_FIELDS = 40


@dataclass(frozen=True)
class Obfuscated:
    """A definition whose tokens are numbers that mean something else on every endpoint, and the only key to them."""

    definition: bytes
    reference: str
    #: The meaning of each token by (method and path, token).
    meanings: dict[tuple[str, str], str]


def inventory(data: bytes, name: str) -> Inventory:
    """The inventory of a definition's bytes."""
    source = read(data, name, LARGEST)
    return walking.inventory(source.root, spec_version(source), source.media)


def stripped(path: Path) -> bytes:
    """The definition without title, description, summary and x-*, as JSON; names, types and enums stay."""
    source: Source = read(path.read_bytes(), path.name, LARGEST)
    root = _without_texts(source.root, named=False)
    root["info"] = {"title": "", "version": "1"}
    return json.dumps(root).encode()


def obfuscated(gold: Inventory) -> Obfuscated:
    """One endpoint per operation with described outputs; `field001` means another thing on each."""
    paths: dict[str, Any] = {}
    lines: list[str] = ["# Fields by endpoint", ""]
    meanings: dict[tuple[str, str], str] = {}
    for number, operation in enumerate(gold.operations):
        described = {field.token: field.description for field in operation.outputs if field.description}
        texts = list(described.values())[:_OBFUSCATED_FIELDS]
        if not texts or operation.path in paths:
            continue
        texts = texts[number % len(texts) :] + texts[: number % len(texts)]  # so that the same row differs by endpoint
        properties = {f"field{position:03}": {"type": "string"} for position in range(1, len(texts) + 1)}
        schema = {"type": "object", "properties": properties}
        answer = {"200": {"description": "", "content": {"application/json": {"schema": schema}}}}
        paths[operation.path] = {"get": {"responses": answer}}
        lines += [f"## GET {operation.path}", "", "| Field | Meaning |", "| --- | --- |"]
        for token, text in zip(properties, texts, strict=True):
            said = " ".join(text.split()).replace("|", "/")
            meanings[f"GET {operation.path}", token] = said
            lines.append(f"| {token} | {said} |")
        lines.append("")
    document = {"openapi": "3.0.0", "info": {"title": "", "version": "1"}, "paths": paths}
    return Obfuscated(json.dumps(document).encode(), "\n".join(lines), meanings)


def _without_texts(value: Any, *, named: bool) -> Any:
    if isinstance(value, list):
        return [_without_texts(part, named=False) for part in value]
    if not isinstance(value, dict):
        return value
    kept = {key: part for key, part in value.items() if named or not (key in _TEXTS or str(key).startswith("x-"))}
    return {
        key: part
        if not named and key in _VALUES
        else _without_texts(part, named=not named and key in _NAMED and isinstance(part, dict))
        for key, part in kept.items()
    }
