"""The fields of one body, breadth-first, with every limit inside the walk.

Shallow fields come first, so that a cap cuts the deep ones (depth-first keeps 38 % of one real API's top-level fields,
breadth-first 96 %), and nothing is expanded to be thrown away: one real API has 21 million paths at depth 6.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from actors.enrichment.definition.facts import COMPOSITIONS, Facts, Reader
from actors.enrichment.definition.refs import References, component_name, keys_of, reference, step

#: Names one below another in a path.
MAX_DEPTH = 8
#: Schemas looked at for one body.
MAX_NODES = 5_000
#: Fields kept of one body; what is seen beyond them is counted.
MAX_FIELDS = 1_000
#: Fields of walked bodies that are remembered for the next use of the same body.
MAX_KEPT = 200_000

_CONDITIONS = ("if", "then", "else")
_KEYED = ("patternProperties", "dependentSchemas")
_OPENING = frozenset(
    {"$ref", "properties", "items", "prefixItems", "additionalProperties", *COMPOSITIONS, *_CONDITIONS, *_KEYED}
)


@dataclass(frozen=True, slots=True)
class Found:
    """A field of a body, whichever operation and status it is reached from."""

    path: str
    token: str
    schema_name: str
    pointer: str
    required: bool
    facts: Facts


@dataclass(slots=True)
class Walked:
    """The fields of one body, and how many more were seen than were kept."""

    fields: list[Found] = field(default_factory=list)
    beyond: int = 0


@dataclass(frozen=True, slots=True)
class _Place:
    """A schema on the way: where it is written, the path it stands for, and the references that led to it."""

    node: Any
    pointer: str
    path: str
    schema_name: str
    trail: frozenset[str]
    depth: int = 0
    #: Reached through oneOf and its like, so what it requires holds for some bodies only.
    sometimes: bool = False


class BodyWalker:
    """Walks bodies of one document."""

    def __init__(self, references: References, reader: Reader, *, ref_siblings: bool) -> None:
        self._references = references
        self._reader = reader
        self._ref_siblings = ref_siblings
        self._walked: dict[str, Walked] = {}
        self._kept = 0

    def walk(self, schema: Any, pointer: str) -> Walked:
        """The fields below the schema at `pointer`; a body is walked once however often it is used."""
        target = self._references.follow(schema, pointer)
        root = target.pointer if target else pointer
        walked = self._walked.get(root)
        if walked is None:
            walked = self._walk(_Place(schema, pointer, "", "", frozenset()))
            if self._kept < MAX_KEPT:
                self._walked[root] = walked
                self._kept += len(walked.fields)
        return walked

    def _walk(self, body: _Place) -> Walked:
        walked, seen, nodes = Walked(), set[str](), 0
        queue = deque([body])
        while queue and nodes < MAX_NODES:
            level = list(self._level(queue.popleft(), MAX_NODES - nodes))
            nodes += len(level)
            always = _always_required(level)
            for place in level:
                required = always.get(place.path, frozenset()) | _required(place)
                for child in _properties(place):
                    if child.path not in seen:
                        seen.add(child.path)
                        if len(walked.fields) < MAX_FIELDS:
                            walked.fields.append(self._found(child, required))
                        else:
                            walked.beyond += 1
                    if child.depth < MAX_DEPTH and not _OPENING.isdisjoint(child.node):
                        queue.append(child)
        return walked

    def _found(self, child: _Place, required: frozenset[str]) -> Found:
        token = _token(child.pointer)
        return Found(
            path=child.path,
            token=token,
            schema_name=child.schema_name,
            pointer=child.pointer,
            required=token in required,
            facts=self._reader.facts(child.node),
        )

    def _level(self, place: _Place, limit: int) -> Iterator[_Place]:
        """Every schema whose properties stand at this place: through references, compositions, lists and maps."""
        stack = [place]
        while stack and limit > 0:
            here = stack.pop()
            if not isinstance(here.node, dict):
                continue
            limit -= 1
            inner: list[_Place] = []
            ref = reference(here.node)
            if ref is not None:
                inner += self._referred(here, ref)
                if not self._ref_siblings:
                    stack += inner
                    continue
            yield here
            inner += _inner(here)
            stack += reversed(inner)

    def _referred(self, here: _Place, ref: str) -> list[_Place]:
        target = self._references.resolve(ref)
        if target is None or target.pointer in here.trail:
            return []
        name = component_name(target.pointer) or here.schema_name
        trail = here.trail | {target.pointer}
        return [_Place(target.node, target.pointer, here.path, name, trail, here.depth, here.sometimes)]


def _inner(here: _Place) -> Iterator[_Place]:
    """The schemas directly inside one that belong to the same level."""
    for keyword in COMPOSITIONS:
        for index, branch in _listed(here, keyword):
            yield _within(here, branch, keyword, index, sometimes=keyword != "allOf")
    for keyword in _CONDITIONS:
        yield _within(here, here.node.get(keyword), keyword, sometimes=True)
    yield _within(here, here.node.get("items"), "items", suffix="[]")
    for keyword in ("items", "prefixItems"):
        for index, item in _listed(here, keyword):
            yield _within(here, item, keyword, index, suffix="[]")
    every = ".*" if here.path else "*"
    yield _within(here, here.node.get("additionalProperties"), "additionalProperties", suffix=every)
    for keyword, suffix in (("patternProperties", every), ("dependentSchemas", "")):
        for key, node in _keyed(here, keyword):
            yield _within(here, node, keyword, key, suffix=suffix, sometimes=True)


def _within(here: _Place, node: Any, *keys: str | int, suffix: str = "", sometimes: bool = False) -> _Place:
    return replace(
        here,
        node=node,
        pointer=step(here.pointer, *keys),
        path=here.path + suffix,
        sometimes=here.sometimes or sometimes,
    )


def _listed(here: _Place, keyword: str) -> Iterator[tuple[int, Any]]:
    value = here.node.get(keyword)
    yield from enumerate(value if isinstance(value, list) else ())


def _keyed(here: _Place, keyword: str) -> Iterator[tuple[str, Any]]:
    value = here.node.get(keyword)
    yield from value.items() if isinstance(value, dict) else ()


def _properties(place: _Place) -> Iterator[_Place]:
    for name, node in _keyed(place, "properties"):
        if isinstance(node, dict):
            path = f"{place.path}.{name}" if place.path else name
            pointer = step(place.pointer, "properties", name)
            yield replace(place, node=node, pointer=pointer, path=path, depth=place.depth + 1, sometimes=False)


def _required(place: _Place) -> frozenset[str]:
    names = place.node.get("required")
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()


def _always_required(level: list[_Place]) -> dict[str, frozenset[str]]:
    """What every part of a level requires of the properties at the same path."""
    always: dict[str, frozenset[str]] = {}
    for place in level:
        if not place.sometimes:
            always[place.path] = always.get(place.path, frozenset()) | _required(place)
    return always


def _token(pointer: str) -> str:
    return keys_of(pointer)[-1]
