"""Applies an OpenAPI Overlay 1.0 document, written from its specification and apart from the code under test."""

import copy
import json
import re
from typing import Any

_SEGMENT = re.compile(r"\[(?:'((?:[^'\\]|\\.)*)'|(\d+))\]")
_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_PLAIN = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"}


def apply(overlay: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """The document after every action, in order; a target has to select exactly one object."""
    assert overlay["overlay"] == "1.0.0"
    assert set(overlay["info"]) == {"title", "version"}
    assert overlay["actions"]
    result: dict[str, Any] = json.loads(json.dumps(document))  # no two places of a JSON document are one
    for action in overlay["actions"]:
        holder: dict[Any, Any] | list[Any] = {"$": result}
        key: Any = "$"
        for segment in segments(action["target"]):
            holder, key = holder[key], segment
        target = holder[key]
        assert isinstance(target, (dict, list)), "1.0 selects objects and arrays only"
        if action.get("remove"):
            del holder[key]
        else:
            merge(target, action["update"])
    return result


def segments(path: str) -> list[str | int]:
    assert path.startswith("$")
    found: list[str | int] = []
    position = 1
    while position < len(path):
        match = _SEGMENT.match(path, position)
        assert match, path
        name, index = match.groups()
        found.append(int(index) if index else _ESCAPED.sub(unescaped, name))
        position = match.end()
    return found


def unescaped(match: re.Match[str]) -> str:
    what = match.group(1)
    return chr(int(what[1:], 16)) if len(what) == 5 else _PLAIN.get(what, what)


def merge(target: Any, update: Any) -> None:
    assert isinstance(target, dict)
    assert isinstance(update, dict)
    for key, value in update.items():
        if isinstance(value, dict) and isinstance(target.get(key), dict):
            merge(target[key], value)
        else:
            target[key] = copy.deepcopy(value)
