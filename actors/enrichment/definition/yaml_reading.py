"""YAML as API definitions mean it: plain values by the core schema of YAML 1.2, keys always text, dates left as text.

PyYAML composes the nodes (in C where it can); the values are made here, because its own constructor follows YAML 1.1,
where `no` is false, `12:30` is 750 and a status `200` is no name. Aliases share one value, are counted as if written
out, and may not contain themselves: a bomb is refused before anything walks it.
"""

import re
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode

from base.errors import BadInput

#: Levels a document may nest; real ones stay below 60.
MAX_DEPTH = 300
#: Values a document may hold with its aliases written out: this many, or so many times what is written in it.
MAX_EXPANDED = 1_000_000
MAX_EXPANSION = 20

_TAG = "tag:yaml.org,2002:"
_PLAIN = _TAG + "plain"
_MERGE = "<<"

_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,30})")  # 007 is a code, not seven
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]{1,30}|(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{0,30})?)(?:[eE][-+]?[0-9]{1,3})?")
_MAY_BE_SPECIAL = frozenset("0123456789+-.~nNtTfF")


class _AsWritten:
    """Stands in for PyYAML's resolver: tells plain scalars from quoted ones, and guesses nothing."""

    def descend_resolver(self, current_node: Node | None, current_index: Any) -> None:
        """Nothing depends on the path to a node."""

    def ascend_resolver(self) -> None:
        """Nothing depends on the path to a node."""

    def resolve(self, kind: type[Node], value: Any, implicit: Any) -> str:  # noqa: ARG002  PyYAML's signature
        """The tag of a node that names none."""
        if kind is ScalarNode:
            return _PLAIN if implicit[0] else _TAG + "str"
        return _TAG + ("map" if kind is MappingNode else "seq")


class PureLoader(yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser, yaml.composer.Composer, _AsWritten):
    """Composes nodes in Python: slow, and there when libyaml is not."""

    def __init__(self, text: str) -> None:
        yaml.reader.Reader.__init__(self, text)
        yaml.scanner.Scanner.__init__(self)
        yaml.parser.Parser.__init__(self)
        yaml.composer.Composer.__init__(self)

    def resolve(self, kind: type[Node], value: Any, implicit: Any) -> str:
        """The tag of a node that names none."""
        return _AsWritten.resolve(self, kind, value, implicit)


def _fastest() -> type[Any]:
    try:
        from yaml.cyaml import CParser  # type: ignore[attr-defined]  # noqa: PLC0415  only where libyaml is
    except ImportError:
        return PureLoader
    return type("FastLoader", (CParser, _AsWritten), {})


FastLoader = _fastest()


def compose(text: str, loader: type[Any] = FastLoader) -> Node | None:
    """The nodes of the one document in `text`, with their places in it.

    Raises:
        yaml.YAMLError: it is no YAML, or more than one document.
    """
    stream = loader(text)
    try:
        node: Node | None = stream.get_single_node()
    finally:
        if hasattr(stream, "dispose"):
            stream.dispose()
    return node


def construct(node: Node, name: str) -> Any:
    """The value of a node graph.

    Raises:
        BadInput: aliases that contain themselves or expand to too much, or nesting beyond `MAX_DEPTH`.
    """
    return _Constructor(name).value(node, 0)[0]


class _Constructor:
    def __init__(self, name: str) -> None:
        self._name = name
        self._made: dict[int, tuple[Any, int]] = {}
        self._open: set[int] = set()
        self._written = 0

    def value(self, node: Node, depth: int) -> tuple[Any, int]:
        """The value, and how many values it holds with every alias written out."""
        if isinstance(node, ScalarNode):
            self._written += 1
            return scalar(node), 1
        known = self._made.get(id(node))
        if known is not None:
            self._written += 1
            return known
        self._enter(node, depth)
        made = self._mapping(node, depth) if isinstance(node, MappingNode) else self._sequence(node, depth)
        self._open.discard(id(node))
        self._made[id(node)] = made
        self._refuse_bomb(made[1])
        return made

    def _enter(self, node: Node, depth: int) -> None:
        if id(node) in self._open:
            line = node.start_mark.line + 1
            raise BadInput(
                f"{self._name} can't be read: the YAML value at line {line} contains itself through an alias. "
                "Use $ref where a schema refers to itself."
            )
        if depth >= MAX_DEPTH:
            raise BadInput(
                f"{self._name} can't be read: its values are nested more than {MAX_DEPTH} levels deep. "
                "Give the definition without that part."
            )
        self._written += 1
        self._open.add(id(node))

    def _refuse_bomb(self, size: int) -> None:
        if size > MAX_EXPANDED and size > MAX_EXPANSION * self._written:
            raise BadInput(
                f"{self._name} can't be read: its YAML aliases stand for more than {MAX_EXPANDED:,} values. "
                "Use $ref where a schema is used again."
            )

    def _sequence(self, node: Node, depth: int) -> tuple[list[Any], int]:
        items, size = [], 1
        for child in node.value:
            value, inner = self.value(child, depth + 1)
            items.append(value)
            size += inner
        return items, size

    def _mapping(self, node: Node, depth: int) -> tuple[dict[str, Any], int]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        size = 1
        for key, child in node.value:
            value, inner = self.value(child, depth + 1)
            size += 1 + inner
            if key.tag == _PLAIN and key.value == _MERGE:
                for part in value if isinstance(value, list) else [value]:
                    merged = {**part, **merged} if isinstance(part, dict) else merged
            else:
                own[key_text(key)] = value
        return ({**own, **{key: value for key, value in merged.items() if key not in own}} if merged else own), size


def key_text(node: Node) -> str:
    """A key as it is written: `200` and `no` are names here."""
    return node.value if isinstance(node, ScalarNode) else "?"


def scalar(node: ScalarNode) -> str | int | float | bool | None:
    """A quoted scalar is text; a plain one what the core schema says, anything else text."""
    text: str = node.value
    if node.tag != _PLAIN or (text and text[0] not in _MAY_BE_SPECIAL):
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
