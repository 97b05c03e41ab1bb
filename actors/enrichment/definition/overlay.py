"""The edits as an OpenAPI Overlay 1.0 document: what a tool or a person can review, keep and apply again."""

from collections.abc import Iterator, Sequence
from typing import Any

from actors.enrichment.definition.edits import Edit
from actors.enrichment.definition.refs import at, below, keys_of

_ESCAPES = {"'": r"\'", "\\": r"\\", "\b": r"\b", "\t": r"\t", "\n": r"\n", "\f": r"\f", "\r": r"\r"}


def overlay(root: dict[str, Any], edits: Sequence[Edit]) -> dict[str, Any]:
    """The overlay of at least one edit; its targets are normalized paths (RFC 9535), so each selects one node."""
    info = root.get("info")
    title = info.get("title") if isinstance(info, dict) else None
    return {
        "overlay": "1.0.0",
        "info": {"title": f"Names and descriptions for {title or 'an API'}", "version": "1.0.0"},
        "actions": [action for edit in edits for action in _actions(root, edit)],
    }


def _actions(root: dict[str, Any], edit: Edit) -> Iterator[dict[str, Any]]:
    target = json_path(root, edit.pointer)
    if not edit.wrap:
        yield {"target": target, "update": edit.values}
        return
    parent, _, last = edit.pointer.rpartition("/")
    yield {"target": target, "remove": True}  # an update merges, and would leave the $ref beside the texts
    yield {
        "target": json_path(root, parent),
        "update": {keys_of(f"/{last}")[0]: {**edit.values, "allOf": [at(root, edit.pointer)]}},
    }


def json_path(root: Any, pointer: str) -> str:
    """The normalized path of what stands at a JSON pointer."""
    path = "$"
    for key in keys_of(pointer):
        path += f"[{key}]" if isinstance(root, list) else f"['{''.join(map(_escaped, key))}']"
        root = below(root, key)
    return path


def _escaped(character: str) -> str:
    return _ESCAPES.get(character) or (f"\\u{ord(character):04x}" if character < " " else character)
