"""From a document to its inventory: every operation with its inputs and outputs, for OpenAPI 3 and Swagger 2.0 (D4).

Real definitions are careless: path items that are text, references to nowhere, doubled ids. Whatever can be read is
read, and what was read around is a warning, never a failure.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from actors.enrichment.definition.bodies import BodyWalker
from actors.enrichment.definition.messages import Body, bodies_of, parameters_of
from actors.enrichment.definition.recognising import allows_ref_siblings, is_swagger
from actors.enrichment.definition.refs import References, reference, step
from actors.enrichment.definition.shapes import Shapes
from actors.enrichment.definition.traits import MAX_DOCUMENT_TEXT, MAX_OPERATION_TEXT, Reader, text
from actors.enrichment.definition.warnings import warnings_of
from schema.enrichment.inventory import Field, Inventory, Media, Operation, operation_key

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")

#: Fields kept of the bodies of a whole document: a body gets its fair share of what is left, but no less than a prompt
#: takes, unless there are so many bodies that even this would be more than the second number.
MAX_FIELDS = 100_000
MOST_FIELDS = 200_000
LEAST_SHARE = 60


@dataclass(frozen=True, slots=True)
class Found:
    """An operation object, where it is written, and the parameters it shares with its path."""

    method: str
    path: str
    node: dict[str, Any]
    pointer: str
    #: Path items it may inherit parameters from, with their pointers.
    items: tuple[tuple[dict[str, Any], str], ...]


class _Budget:
    """Shares the document's fields among its bodies, in document order: what small ones leave, later ones may use."""

    def __init__(self, bodies: int) -> None:
        self._bodies = max(1, bodies)
        self._least = min(LEAST_SHARE, max(1, MOST_FIELDS // self._bodies))
        self._left = MAX_FIELDS

    def take(self, wanted: int) -> int:
        """How many fields of the next body are kept."""
        taken = min(wanted, max(self._least, self._left // max(1, self._bodies)))
        self._left -= taken
        self._bodies -= 1
        return taken


@dataclass
class _Fields:
    """The fields of one operation by key: the first of a key wins."""

    kept: dict[str, Field] = field(default_factory=dict)
    cut: int = 0

    def add(self, one: Field) -> None:
        self.kept.setdefault(one.key, one)

    def of(self, direction: str) -> tuple[Field, ...]:
        return tuple(one for one in self.kept.values() if one.direction == direction)


def inventory(root: dict[str, Any], version: str, media: Media) -> Inventory:
    """Everything in a document, in its own order; no operation is left out, fields beyond the caps are counted."""
    references = References(root)
    reader = Reader(references)
    walker = BodyWalker(references, Shapes(reader, ref_siblings=allows_ref_siblings(version)))
    found = list(operations_of(root, references))
    bodies = [list(bodies_of(one.node, one.pointer, references, swagger=is_swagger(version))) for one in found]
    budget = _Budget(sum(map(len, bodies)))
    operations: list[Operation] = []
    for one, own in zip(found, bodies, strict=True):
        fields = _Fields()
        for parameter in parameters_of(one.node, one.pointer, one.items, references, reader):
            fields.add(parameter)
        for body in own:
            _add_body(fields, body, walker, budget)
        operations.append(_operation(one, fields))
    info = root.get("info") if isinstance(root.get("info"), dict) else {}
    return Inventory(
        spec_version=version,
        media=media,
        title=text(info.get("title"), MAX_OPERATION_TEXT) if info else "",
        description=text(info.get("description"), MAX_DOCUMENT_TEXT) if info else "",
        operations=tuple(operations),
        warnings=tuple(warnings_of(root, operations, references)),
    )


def operations_of(root: dict[str, Any], references: References) -> Iterator[Found]:
    """Every operation of the document, once per key; path items that are text or lead nowhere hold none."""
    keys = Counter[str]()
    paths = root.get("paths")
    for path, item in paths.items() if isinstance(paths, dict) else ():
        if path.startswith("x-"):
            continue
        items = tuple(_path_items(item, step("/paths", path), references))
        for node, pointer in items:
            for name, operation in node.items():
                if name.lower() in METHODS and isinstance(operation, dict):
                    key = operation_key(name, path, operation_id(operation))
                    keys[key] += 1
                    if keys[key] == 1:
                        yield Found(name.upper(), path, operation, step(pointer, name), items)


def operation_id(operation: dict[str, Any]) -> str:
    """The id an operation gives itself; empty where it gives none."""
    return text(operation.get("operationId")).strip()


def _path_items(item: Any, pointer: str, references: References) -> Iterator[tuple[dict[str, Any], str]]:
    """The path item and, where it is a reference, what it refers to."""
    seen = set[str]()
    for target in references.trail(item, pointer):
        if target is None or target.pointer in seen:
            return
        seen.add(target.pointer)
        yield target.node, target.pointer
        if reference(target.node) is None:
            return


def _add_body(fields: _Fields, body: Body, walker: BodyWalker, budget: _Budget) -> None:
    walked = walker.walk(body.schema, body.pointer)
    taken = budget.take(len(walked.fields))
    fields.cut += walked.beyond + len(walked.fields) - taken
    for found in walked.fields[:taken]:
        one = found.property
        fields.add(
            Field(
                location=body.location,
                status=body.status,
                path=found.path,
                token=one.name,
                schema_name=one.schema_name,
                pointer=one.pointer,
                required=found.required,
                type=one.traits.type,
                format=one.traits.format,
                values=one.traits.values,
                title=one.traits.title,
                description=one.traits.description,
            )
        )


def _operation(one: Found, fields: _Fields) -> Operation:
    identity = operation_id(one.node)
    return Operation(
        key=operation_key(one.method, one.path, identity),
        method=one.method,
        path=one.path,
        operation_id=identity,
        pointer=one.pointer,
        summary=text(one.node.get("summary"), MAX_OPERATION_TEXT),
        description=text(one.node.get("description"), MAX_OPERATION_TEXT),
        inputs=fields.of("input"),
        outputs=fields.of("output"),
        cut=fields.cut,
    )
