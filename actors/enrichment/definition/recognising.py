"""Whether a document is an API definition of a version that is read here."""

import re
from typing import Any

from actors.enrichment.definition.reading import EXPECTED, Source
from base.errors import BadInput

_READ = re.compile(r"3\.[012](?:\.\S*)?|2\.0")


def spec_version(source: Source) -> str:
    """The version a definition says it follows, as written: `3.0.3`, `3.1.0`, `2.0`.

    Raises:
        BadInput: no API definition, or of a version that is not read.
    """
    for key, family in (("openapi", "OpenAPI"), ("swagger", "Swagger"), ("swaggerVersion", "Swagger")):
        if key in source.root:
            version = _text(source.root[key])
            if _READ.fullmatch(version) and (version == "2.0") == (family == "Swagger"):
                return version
            raise BadInput(
                f"{source.name} says it is {family} {version or 'of no version'}, "
                "and only OpenAPI 3.0 and 3.1 and Swagger 2.0 are read. Convert it to one of them first."
            )
    raise BadInput(f"{source.name} is no API definition: {_other(source.root)}. {EXPECTED}")


def is_swagger(version: str) -> bool:
    """Swagger 2.0: `definitions` and `body` parameters instead of `components` and `requestBody`."""
    return version == "2.0"


def allows_ref_siblings(version: str) -> bool:
    """From 3.1 on, keywords beside a `$ref` count; before, they are ignored."""
    return version != "2.0" and not version.startswith("3.0")


def _text(value: Any) -> str:
    return str(value).strip() if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""


def _other(root: dict[str, Any]) -> str:
    """What it seems to be instead; the word helps whoever picked the wrong file."""
    if "asyncapi" in root:
        return "it is an AsyncAPI document"
    if "overlay" in root:
        return "it is an Overlay for one"
    if "item" in root and isinstance(root.get("info"), dict) and "_postman_id" in root["info"]:
        return "it is a Postman collection (export it as OpenAPI)"
    if "$schema" in root:
        return "it is a JSON Schema"
    return "it has no `openapi` or `swagger` at its top"
