"""Small definitions made for one test each."""

from pathlib import Path
from typing import Any

import orjson

from actors.enrichment.definition.reading import Source, read
from actors.enrichment.definition.recognising import spec_version
from actors.enrichment.definition.walking import inventory
from schema.enrichment.inventory import Field, Inventory

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "tests" / "data"
EXAMPLES = ROOT / "examples"

AMPLE = 50_000_000


def api(paths: dict[str, Any], *, version: str = "3.0.3", **rest: Any) -> dict[str, Any]:
    key = "swagger" if version == "2.0" else "openapi"
    return {key: version, "info": {"title": "Shop", "version": "1"}, "paths": paths, **rest}


def giving(schema: Any, *, version: str = "3.0.3", schemas: dict[str, Any] | None = None) -> dict[str, Any]:
    """A definition of one operation, `GET /a`, that answers `schema`."""
    if version == "2.0":
        operation = {"responses": {"200": {"description": "", "schema": schema}}}
        return api({"/a": {"get": operation}}, version=version, definitions=schemas or {})
    content = {"application/json": {"schema": schema}}
    operation = {"responses": {"200": {"description": "", "content": content}}}
    return api({"/a": {"get": operation}}, version=version, components={"schemas": schemas or {}})


def walked(document: dict[str, Any]) -> Inventory:
    return inventory(document, str(document.get("openapi") or document["swagger"]), "json")


def outputs(document: dict[str, Any]) -> dict[str, Field]:
    """The fields that the first operation answers, by path."""
    return {field.path: field for field in walked(document).operations[0].outputs}


def inputs(document: dict[str, Any]) -> dict[str, Field]:
    """The fields that the first operation takes, by location and path."""
    return {f"{field.location} {field.path}": field for field in walked(document).operations[0].inputs}


def codes(found: Inventory) -> list[str]:
    return [warning.code for warning in found.warnings]


def source(data: bytes | str, name: str = "api.yaml") -> Source:
    return read(data.encode() if isinstance(data, str) else data, name, AMPLE)


def bytes_of(document: dict[str, Any]) -> bytes:
    return orjson.dumps(document)


def inventory_of(path: Path) -> Inventory:
    found = read(path.read_bytes(), path.name, AMPLE)
    return inventory(found.root, spec_version(found), found.media)
