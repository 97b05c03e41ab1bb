"""Where objects and their entries stand in a text, so that a text can be put into it and nothing else changes."""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Literal

from yaml.nodes import MappingNode, Node, SequenceNode

from actors.enrichment.definition.refs import keys_of
from actors.enrichment.definition.yaml_reading import key_text

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


@dataclass(slots=True)
class Entry:
    """A key and its value, as positions in the text."""

    key: str
    start: int
    value_start: int
    value_end: int


@dataclass(slots=True)
class Place:
    """An object in the text: `json`, or YAML's `flow` (in braces) or `block` (by indentation)."""

    style: Literal["json", "flow", "block"]
    start: int
    end: int
    entries: list[Entry] = field(default_factory=list)

    def entry(self, key: str) -> Entry | None:
        """The entry that counts: the last of its key."""
        return next((entry for entry in reversed(self.entries) if entry.key == key), None)


@dataclass(slots=True)
class _Wanted:
    """Pointers that are looked for, as a tree of their keys."""

    pointer: str | None = None
    below: dict[str, "_Wanted"] = field(default_factory=dict)

    @classmethod
    def of(cls, pointers: Collection[str]) -> "_Wanted":
        root = cls()
        for pointer in pointers:
            here = root
            for key in keys_of(pointer):
                here = here.below.setdefault(key, cls())
            here.pointer = pointer
        return root


@dataclass(slots=True)
class _Frame:
    """An open object or list on the way to something wanted."""

    wanted: _Wanted
    is_object: bool
    start: int
    entries: list[Entry] = field(default_factory=list)
    key: str | None = None
    index: int = 0

    def enter(self) -> _Wanted | None:
        """What is wanted below the value that starts here."""
        return self.wanted.below.get(self.key or "" if self.is_object else str(self.index))


def json_places(text: str, pointers: Collection[str]) -> dict[str, Place]:
    """The objects at `pointers` in a JSON text that is known to be valid, in one pass over its tokens."""
    found: dict[str, Place] = {}
    frames: list[_Frame] = []
    skipping = 0
    for token in _TOKEN.finditer(text):
        first = text[token.start()]
        if first in "{[":
            wanted = _begin(frames, token.start()) if not skipping else None
            if wanted is None and (frames or skipping):
                skipping += 1
            else:
                frames.append(_Frame(wanted or _Wanted.of(pointers), first == "{", token.start()))
        elif first in "}]":
            if skipping:
                skipping -= 1
            else:
                _close(frames.pop(), token.end(), found)
            if not skipping and frames:
                _end_value(frames[-1], token.end())
        elif not skipping and frames:
            _inside(frames[-1], token.group(), first, token.start(), token.end())
    return found


def _begin(frames: list[_Frame], start: int) -> _Wanted | None:
    if not frames:
        return None
    _start_value(frames[-1], start)
    return frames[-1].enter()


def _inside(frame: _Frame, token: str, first: str, start: int, end: int) -> None:
    if first == ",":
        frame.index += 1
        frame.key = None
    elif first == ":":
        return
    elif frame.is_object and frame.key is None:
        frame.key = json.loads(token, strict=False)
        frame.entries.append(Entry(frame.key or "", start, start, end))
    else:
        _start_value(frame, start)
        _end_value(frame, end)


def _start_value(frame: _Frame, start: int) -> None:
    if frame.entries:
        frame.entries[-1].value_start = start


def _end_value(frame: _Frame, end: int) -> None:
    if frame.entries:
        frame.entries[-1].value_end = end


def _close(frame: _Frame, end: int, found: dict[str, Place]) -> None:
    if frame.wanted.pointer is not None and frame.is_object:
        found[frame.wanted.pointer] = Place("json", frame.start, end, frame.entries)


def yaml_places(root: Node, pointers: Collection[str]) -> dict[str, Place]:
    """The mappings at `pointers` among the nodes of a YAML text; what stands there only by a merge is not found."""
    index = _Index()
    found: dict[str, Place] = {}
    for pointer in pointers:
        node: Node | None = root
        for key in keys_of(pointer):
            node = index.below(node, key)
        if isinstance(node, MappingNode):
            style: Literal["flow", "block"] = "flow" if node.flow_style else "block"
            found[pointer] = Place(style, node.start_mark.index, node.end_mark.index, list(_entries(node)))
    return found


class _Index:
    """Children of mappings by key; a mapping of a thousand paths is passed a thousand times."""

    def __init__(self) -> None:
        self._known: dict[int, dict[str, Node]] = {}

    def below(self, node: Node | None, key: str) -> Node | None:
        if isinstance(node, MappingNode):
            if id(node) not in self._known:
                self._known[id(node)] = {key_text(name): child for name, child in node.value}
            return self._known[id(node)].get(key)
        if isinstance(node, SequenceNode) and key.isdecimal() and int(key) < len(node.value):
            child: Node = node.value[int(key)]
            return child
        return None


def _entries(node: MappingNode) -> Iterator[Entry]:
    for key, value in node.value:
        yield Entry(key_text(key), key.start_mark.index, value.start_mark.index, value.end_mark.index)
