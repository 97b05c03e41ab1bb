"""What stands directly in one schema: its properties, and the schemas inside it that belong to the same level.

Read once per schema however often it is reached: a walk over a large definition passes each thousands of times.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from actors.enrichment.definition.refs import component_of, reference, step
from actors.enrichment.definition.traits import COMPOSITIONS, Reader, Traits

LIST = "[]"
MAP = "*"

_CONDITIONS = ("if", "then", "else")
_KEYED = ("patternProperties", "dependentSchemas")
_OPENING = frozenset(
    {"$ref", "properties", "items", "prefixItems", "additionalProperties", *COMPOSITIONS, *_CONDITIONS, *_KEYED}
)


@dataclass(slots=True)
class Property:
    """A property and where it is written."""

    name: str
    node: dict[str, Any]
    pointer: str
    schema_name: str
    #: Whether there may be fields below it.
    opens: bool
    traits: Traits


@dataclass(slots=True)
class Inner:
    """A schema inside another that stands for the same place, or for the entries of its list or map."""

    node: dict[str, Any]
    pointer: str
    suffix: str
    #: Reached through oneOf and its like, so what it requires holds for some bodies only.
    sometimes: bool


@dataclass(slots=True)
class Shape:
    """One schema, seen from outside."""

    ref: str | None
    properties: list[Property] = field(default_factory=list)
    inner: list[Inner] = field(default_factory=list)
    required: frozenset[str] = frozenset()


class Shapes:
    """The shapes of the schemas of one document, by where they are written."""

    def __init__(self, reader: Reader, *, ref_siblings: bool) -> None:
        self._reader = reader
        self._ref_siblings = ref_siblings
        self._known: dict[str, Shape] = {}

    def of(self, node: dict[str, Any], pointer: str) -> Shape:
        """The shape of the schema at `pointer`. Beside a reference nothing counts where the version says so."""
        shape = self._known.get(pointer)
        if shape is None:
            ref = reference(node)
            shape = Shape(ref)
            if ref is None or self._ref_siblings:
                shape.properties = list(self._properties(node, pointer))
                shape.inner = list(_inner(node, pointer))
                shape.required = _required(node)
            self._known[pointer] = shape
        return shape

    def _properties(self, node: dict[str, Any], pointer: str) -> Iterator[Property]:
        for name, schema in _keyed(node, "properties"):
            if isinstance(schema, dict):
                at = step(pointer, "properties", name)
                opens = not _OPENING.isdisjoint(schema)
                yield Property(name, schema, at, component_of(at), opens, self._reader.traits(schema))


def _inner(node: dict[str, Any], pointer: str) -> Iterator[Inner]:
    for keys, schema, suffix, sometimes in _candidates(node):
        if isinstance(schema, dict):
            yield Inner(schema, step(pointer, *keys), suffix, sometimes)


def _candidates(node: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Any, str, bool]]:
    for keyword in COMPOSITIONS:
        for index, branch in _listed(node, keyword):
            yield (keyword, index), branch, "", keyword != "allOf"
    for keyword in _CONDITIONS:
        yield (keyword,), node.get(keyword), "", True
    yield ("items",), node.get("items"), LIST, False
    for keyword in ("items", "prefixItems"):
        for index, item in _listed(node, keyword):
            yield (keyword, index), item, LIST, False
    yield ("additionalProperties",), node.get("additionalProperties"), MAP, False
    for keyword, suffix in (("patternProperties", MAP), ("dependentSchemas", "")):
        for key, schema in _keyed(node, keyword):
            yield (keyword, key), schema, suffix, True


def _listed(node: dict[str, Any], keyword: str) -> Iterator[tuple[int, Any]]:
    value = node.get(keyword)
    yield from enumerate(value if isinstance(value, list) else ())


def _keyed(node: dict[str, Any], keyword: str) -> Iterator[tuple[str, Any]]:
    value = node.get(keyword)
    yield from value.items() if isinstance(value, dict) else ()


def _required(node: dict[str, Any]) -> frozenset[str]:
    names = node.get("required")
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()
