"""Where each text is written, and which may be: the one list that document and overlay are both made from (D11).

A text stands where a reader of the definition looks for it and where it can't change what validates: `summary` of an
operation, `title` and `description` of a schema, `description` of a parameter. Keys are never renamed.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from actors.enrichment.definition.messages import PARAMETER_TITLE
from actors.enrichment.definition.reading import storable
from actors.enrichment.definition.recognising import allows_ref_siblings, is_swagger
from actors.enrichment.definition.refs import at, component_of, keys_of, reference, step
from actors.enrichment.definition.users import Users
from actors.enrichment.definition.warnings import named
from actors.enrichment.definition.written import Conflict, Written
from schema.enrichment.inventory import InventoryWarning

_PARAMETERS = frozenset({"path", "query", "header", "cookie"})


@dataclass
class Edit:
    """What changes in the object at one pointer."""

    pointer: str
    #: Texts by key; a key that needs a new object holds one.
    values: dict[str, Any] = field(default_factory=dict)
    #: The object is a `$ref` beside which nothing counts: it moves into an `allOf` of a new object that has the texts.
    wrap: bool = False


@dataclass(frozen=True)
class Decided:
    """The edits in plan order, and what was left out of them."""

    edits: tuple[Edit, ...]
    warnings: tuple[InventoryWarning, ...]
    conflicts: tuple[Conflict, ...]


@dataclass(frozen=True)
class _Text:
    """One text on its way to one key of one object."""

    container: str
    key: str
    text: str
    endpoint: str


def decide(
    root: dict[str, Any], version: str, written: Sequence[Written], selected: Collection[str] | None, users: Users
) -> Decided:
    """The edits that write `written` into the document.

    A shared place is written only if every operation that uses it was selected or has the same text; of different
    texts for one place the first wins. `selected` None means all operations.
    """
    texts = [text for one in written for text in _texts(root, version, one)]
    chosen = None if selected is None else users.mask(selected)
    agreeing: dict[tuple[str, str, str], int] = defaultdict(int)
    for text in texts:
        agreeing[text.container, text.key, text.text] |= users.mask([text.endpoint])
    kept: dict[tuple[str, str], _Text] = {}
    conflicts: list[Conflict] = []
    shared: dict[str, list[str]] = {}
    for text in texts:
        mine = agreeing[text.container, text.key, text.text]
        others = [] if chosen is None else users.of(text.container, beside=chosen | mine)
        if others and _existing(root, text) != text.text:
            shared.setdefault(component_of(text.container) or text.container, others)
            continue
        winner = kept.setdefault((text.container, text.key), text)
        if winner.text != text.text:
            conflicts.append(Conflict(text.container, text.key, text.endpoint, winner.text, text.text))
    changing = [text for text in kept.values() if _existing(root, text) != text.text]
    return Decided(tuple(_edits(root, version, changing)), tuple(_warnings(shared)), tuple(conflicts))


def _texts(root: dict[str, Any], version: str, one: Written) -> Iterator[_Text]:
    """Each text of one entry with the object and key it belongs to; none where its place is not in the document."""
    node = at(root, one.pointer)
    if not isinstance(node, dict) and one.location != "mapping":
        return
    for name, text in (("title", one.title), ("description", one.description)):
        if text is not None:
            container, key = _home(node, version, one, name)
            yield _Text(container, key, storable(text), one.endpoint_key)


def _home(node: Any, version: str, one: Written, name: str) -> tuple[str, str]:
    if one.location == "endpoint" and name == "title":
        return one.pointer, "summary"
    is_parameter = one.location in _PARAMETERS or (one.location == "form" and is_swagger(version))
    if is_parameter and name == "title":
        return (one.pointer, PARAMETER_TITLE) if is_swagger(version) else (_schema_of(node, one.pointer), "title")
    return one.pointer, name


def _schema_of(parameter: dict[str, Any], pointer: str) -> str:
    """Where the schema of a parameter is: under `schema`, or under its one media type."""
    content = parameter.get("content")
    if "schema" not in parameter and isinstance(content, dict):
        for media, holder in content.items():
            if isinstance(holder, dict):
                return step(pointer, "content", media, "schema")
    return step(pointer, "schema")


def _existing(root: dict[str, Any], text: _Text) -> Any:
    container = at(root, text.container)
    return container.get(text.key) if isinstance(container, dict) else None


def _edits(root: dict[str, Any], version: str, texts: Sequence[_Text]) -> Iterator[Edit]:
    """The texts gathered by object, in the order of the first text of each."""
    edits: dict[str, Edit] = {}
    for text in texts:
        node = at(root, text.container)
        if node is None:
            parent, _, last = text.container.rpartition("/")
            made = edits.setdefault(parent, Edit(parent)).values.setdefault(keys_of(f"/{last}")[0], {})
            made[text.key] = text.text
        elif isinstance(node, dict):
            wrap = reference(node) is not None and not allows_ref_siblings(version)
            edits.setdefault(text.container, Edit(text.container, wrap=wrap)).values[text.key] = text.text
    yield from edits.values()


def _warnings(shared: dict[str, list[str]]) -> Iterator[InventoryWarning]:
    if shared:
        others = list(dict.fromkeys(key for keys in shared.values() for key in keys))
        yield InventoryWarning(
            code="shared_schema_not_selected",
            text=f"Left as they are, because endpoints that were not selected share them: {named(shared)} "
            f"(used by {named(others)}). Select those too to have the texts written.",
        )
