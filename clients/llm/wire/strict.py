"""A JSON schema in the subset that every provider's strict mode accepts.

All properties required, nullable instead of optional, no further properties, no constraints on lengths or numbers.
The same schema always gives the same bytes: it is part of the prefix that providers cache (D8).
"""

from collections.abc import Mapping
from typing import Any

_NOT_ACCEPTED = {
    "$schema",
    "default",
    "example",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "title",
    "uniqueItems",
}


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema as a provider is given it. Answers are still checked against the original by whoever asks."""
    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _NOT_ACCEPTED:
            continue
        if key in ("properties", "$defs"):
            result[key] = {name: strict(one) for name, one in value.items()}
        elif key == "items":
            result[key] = strict(value)
        elif key in ("anyOf", "oneOf"):
            result["anyOf"] = [strict(one) for one in value]
        else:
            result[key] = value
    if "properties" in result:
        required = schema.get("required", ())
        result["properties"] = {
            name: one if name in required else _nullable(one) for name, one in result["properties"].items()
        }
        result["required"] = list(result["properties"])
        result["additionalProperties"] = False
    return result


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if isinstance(schema.get("type"), str) and "enum" not in schema and "const" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    if any(one == {"type": "null"} for one in schema.get("anyOf", ())) or "null" in (schema.get("type") or ()):
        return schema
    return {"anyOf": [*(schema["anyOf"] if schema.keys() == {"anyOf"} else [schema]), {"type": "null"}]}
