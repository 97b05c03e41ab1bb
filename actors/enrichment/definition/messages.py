"""What goes into and comes out of one operation: its parameters, and the bodies it takes and gives."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from actors.enrichment.definition.refs import References, component_of, step
from actors.enrichment.definition.traits import Reader, Traits, text
from schema.enrichment.inventory import Field, Location

#: Swagger 2.0 allows no title beside a parameter's name, so its title is written under this key (docs/decisions).
PARAMETER_TITLE = "x-title"

_JSON = re.compile(r"(application|text)/([\w.+-]+\+)?json\b|\*/\*", re.IGNORECASE)
_FORM = re.compile(r"application/x-www-form-urlencoded\b|multipart/", re.IGNORECASE)
_PARAMETER_LOCATIONS: dict[str, Location] = {
    "path": "path",
    "query": "query",
    "header": "header",
    "cookie": "cookie",
    "formData": "form",
}


@dataclass(frozen=True, slots=True)
class Body:
    """A schema that an operation takes or gives."""

    location: Location
    status: str
    schema: Any
    pointer: str


def parameters_of(
    operation: dict[str, Any],
    pointer: str,
    items: tuple[tuple[dict[str, Any], str], ...],
    references: References,
    reader: Reader,
) -> Iterator[Field]:
    """The parameters of an operation, one per place and name, its own before those of its path."""
    for node, at in ((operation, pointer), *items):
        for parameter, written in _listed(node.get("parameters"), step(at, "parameters"), references):
            location = _PARAMETER_LOCATIONS.get(text(parameter.get("in")))
            name = text(parameter.get("name"))
            if location and name:
                yield _parameter(parameter, written, location, name, reader)


def bodies_of(operation: dict[str, Any], pointer: str, references: References, *, swagger: bool) -> Iterator[Body]:
    """The request body, if any, and one body for each status that has one."""
    request = _swagger_request if swagger else _request
    yield from request(operation, pointer, references)
    responses = operation.get("responses")
    for status, response in responses.items() if isinstance(responses, dict) else ():
        target = references.follow(response, step(pointer, "responses", status))
        if target is None or status.startswith("x-"):
            continue
        if swagger:
            if "schema" in target.node:
                yield Body("response", status, target.node["schema"], step(target.pointer, "schema"))
        elif chosen := _content(target.node, target.pointer):
            _, schema, written = chosen
            yield Body("response", status, schema, written)


def _request(operation: dict[str, Any], pointer: str, references: References) -> Iterator[Body]:
    target = references.follow(operation.get("requestBody"), step(pointer, "requestBody"))
    if target and (chosen := _content(target.node, target.pointer)):
        media, schema, written = chosen
        yield Body("form" if _FORM.match(media) else "body", "", schema, written)


def _swagger_request(operation: dict[str, Any], pointer: str, references: References) -> Iterator[Body]:
    for parameter, written in _listed(operation.get("parameters"), step(pointer, "parameters"), references):
        if parameter.get("in") == "body" and "schema" in parameter:
            yield Body("body", "", parameter["schema"], step(written, "schema"))


def _content(node: dict[str, Any], pointer: str) -> tuple[str, Any, str] | None:
    """The media type, schema and pointer of the first JSON-like content, else of the first that has a schema."""
    content = node.get("content")
    described = [
        (media, holder["schema"], step(pointer, "content", media, "schema"))
        for media, holder in (content.items() if isinstance(content, dict) else ())
        if isinstance(holder, dict) and isinstance(holder.get("schema"), dict)
    ]
    return next((one for one in described if _JSON.match(one[0])), described[0] if described else None)


def _listed(value: Any, pointer: str, references: References) -> Iterator[tuple[dict[str, Any], str]]:
    for index, one in enumerate(value if isinstance(value, list) else ()):
        if target := references.follow(one, step(pointer, index)):
            yield target.node, target.pointer


def _parameter(parameter: dict[str, Any], pointer: str, location: Location, name: str, reader: Reader) -> Field:
    schema = parameter_schema(parameter)
    said = reader.traits(schema if schema is not None else parameter)
    return Field(
        location=location,
        path=name,
        token=name,
        schema_name=component_of(pointer),
        pointer=pointer,
        type=said.type,
        format=said.format,
        values=said.values,
        required=parameter.get("required") is True,
        title=text(parameter.get(PARAMETER_TITLE)) or _title(said, schema),
        description=text(parameter.get("description")) or said.description,
    )


def _title(said: Traits, schema: Any) -> str:
    return said.title if schema is not None else ""


def parameter_schema(parameter: dict[str, Any]) -> Any:
    """The schema of a parameter; None in Swagger 2.0, where the parameter is its own."""
    if "schema" in parameter:
        return parameter["schema"]
    chosen = _content(parameter, "")
    return chosen[1] if chosen else None
