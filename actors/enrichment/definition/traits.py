"""What a schema says about itself: type, format, values and texts, looked up through its references."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from actors.enrichment.definition.refs import References, reference

#: Values of an enumeration that are kept, and how much of each.
MAX_VALUES = 20
MAX_VALUE_LENGTH = 100
#: Longest texts kept of a field, of an operation and of the whole document, in characters.
MAX_FIELD_TEXT = 4_000
MAX_OPERATION_TEXT = 20_000
MAX_DOCUMENT_TEXT = 200_000

_MAX_TYPES = 6
_MAX_WRAPPERS = 6

COMPOSITIONS = ("allOf", "oneOf", "anyOf")


@dataclass(frozen=True, slots=True)
class Traits:
    """The part of a field that its schema says."""

    type: str
    format: str
    values: tuple[str, ...]
    title: str
    description: str


def text(value: Any, limit: int = MAX_FIELD_TEXT) -> str:
    """A text of the document as it is written, HTML and all; empty for anything that is no text."""
    return value[:limit] if isinstance(value, str) else ""


class Reader:
    """Reads the traits of schemas in one document; what a reference says is read once."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._traits: dict[str, Traits] = {}
        self._types: dict[str, str] = {}

    def traits(self, schema: Any) -> Traits:
        """What the schema says, or failing that what it refers to: a bare `$ref` says what its component says."""
        ref = reference(schema)
        if ref is None or len(schema) > 1:
            return self._read(schema)
        if ref not in self._traits:
            self._traits[ref] = self._read(schema)
        return self._traits[ref]

    def type_of(self, schema: Any) -> str:
        """`string`, `string[]`, `object`, `string|integer`; null is left out; empty where nothing is said."""
        ref = reference(schema)
        if ref is None:
            return self._type(schema) if isinstance(schema, dict) else ""
        if ref not in self._types:
            self._types[ref] = ""  # what refers to itself meanwhile says nothing
            target = self._references.resolve(ref)
            self._types[ref] = self.type_of(target.node) if target else ""
        return self._types[ref]

    def _read(self, schema: Any) -> Traits:
        views = list(self._views(schema))
        return Traits(
            type=self.type_of(schema),
            format=_first(views, "format"),
            values=self._values(views),
            title=_first(views, "title"),
            description=_first(views, "description"),
        )

    def _type(self, node: dict[str, Any]) -> str:
        kinds = node.get("type")
        named = [k for k in (kinds if isinstance(kinds, list) else [kinds]) if isinstance(k, str) and k != "null"]
        if not named and "items" in node:
            named = ["array"]
        if named:
            return "|".join(dict.fromkeys(self._list_type(node) if kind == "array" else kind for kind in named))
        for keyword in COMPOSITIONS:
            said: dict[str, None] = {}
            for branch in _branches(node, keyword)[:MAX_VALUES]:
                said.update(dict.fromkeys(filter(None, self.type_of(branch).split("|"))))
            if said:
                return "|".join(list(said)[:_MAX_TYPES])
        return "object" if "properties" in node or isinstance(node.get("additionalProperties"), dict) else ""

    def _list_type(self, node: dict[str, Any]) -> str:
        inner = self.type_of(node.get("items")) or "any"
        return f"({inner})[]" if "|" in inner else f"{inner}[]"

    def _views(self, schema: Any) -> Iterator[dict[str, Any]]:
        """The schema, what it refers to, and the one schema it wraps, in the order in which their texts count."""
        for _ in range(_MAX_WRAPPERS):
            last: dict[str, Any] = {}
            for target in self._references.trail(schema, ""):
                if target is None:
                    return
                last = target.node
                yield last
            wrapped = [branches for branches in (_branches(last, keyword) for keyword in COMPOSITIONS) if branches]
            if len(wrapped) != 1 or len(wrapped[0]) != 1:
                return
            schema = wrapped[0][0]

    def _values(self, views: list[dict[str, Any]]) -> tuple[str, ...]:
        for node in views:
            items = self._references.follow(node.get("items"), "")
            for holder in (node, items.node if items else {}):
                listed = [holder["const"]] if "const" in holder else holder.get("enum")
                if isinstance(listed, list) and listed:
                    return tuple(_value(value) for value in listed if value is not None)[:MAX_VALUES]
        return ()


def _value(value: Any) -> str:
    written = str(value).lower() if isinstance(value, bool) else str(value)
    return written[:MAX_VALUE_LENGTH]


def _first(views: list[dict[str, Any]], keyword: str) -> str:
    return next((said for said in (text(view.get(keyword)) for view in views) if said.strip()), "")


def _branches(node: dict[str, Any], keyword: str) -> list[Any]:
    """The alternatives of a composition that say more than null."""
    branches = node.get(keyword)
    return [
        branch
        for branch in (branches if isinstance(branches, list) else [])
        if isinstance(branch, dict) and (reference(branch) or branch.get("type") != "null")
    ]
