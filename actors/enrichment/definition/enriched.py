"""The definition with its texts in it, and the overlay that says the same (D11).

The texts are spliced into the file as it is; the result is read back and must be the document that was meant. Where a
file can't be edited so (a YAML alias stands for the place), it is written anew from that document.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from actors.enrichment.definition.edits import Edit, decide
from actors.enrichment.definition.overlay import overlay
from actors.enrichment.definition.places import json_places, yaml_places
from actors.enrichment.definition.reading import Source, read
from actors.enrichment.definition.recognising import spec_version
from actors.enrichment.definition.refs import References, keys_of
from actors.enrichment.definition.splicing import CannotSplice, splice
from actors.enrichment.definition.users import Users
from actors.enrichment.definition.written import Enriched, Written
from base.errors import BadInput
from schema.enrichment.inventory import InventoryWarning, Media

_YAML_WIDTH = 120


def write(data: bytes, name: str, written: Sequence[Written], selected: Collection[str] | None) -> Enriched:
    """The bytes of a definition with `written` in it; `selected` are the operations that were chosen, None for all.

    Raises:
        BadInput: `data` is no definition.
    """
    source = read(data, name, len(data))
    version = spec_version(source)
    users = Users(source.root, References(source.root))
    decided = decide(source.root, version, written, selected, users)
    if not decided.edits:
        return Enriched(data, None, source.media, decided.warnings, decided.conflicts)
    meant = applied(source.root, decided.edits)
    text, warnings = _spliced(source, meant, decided.edits), decided.warnings
    if text is None:
        text = dumped(meant, source.media, source.text)
        warnings += (
            InventoryWarning(
                code="document_rewritten",
                text=f"{name} was written anew, without its comments and layout: some texts belong to a place that "
                "it writes once and uses several times.",
            ),
        )
    document = _encoded(text, source.encoding)
    said = dumped(overlay(source.root, decided.edits), source.media).encode()
    return Enriched(document, said, source.media, warnings, decided.conflicts)


def applied(root: dict[str, Any], edits: Sequence[Edit]) -> dict[str, Any]:
    """The document with the edits; `root` stays as it is, and so does every other use of what it shares by alias."""
    tree = _Tree()
    for edit in edits:
        here = tree
        for key in keys_of(edit.pointer):
            here = here.below.setdefault(key, _Tree())
        here.edit = edit
    changed: dict[str, Any] = _changed(root, tree)
    return changed


@dataclass
class _Tree:
    """Edits by the keys that lead to them."""

    edit: Edit | None = None
    below: dict[str, "_Tree"] = field(default_factory=dict)


def _changed(here: Any, tree: _Tree) -> Any:
    """A copy of everything on the way to an edit; the rest is shared with the original."""
    if isinstance(here, list):
        return [_changed(item, tree.below[str(i)]) if str(i) in tree.below else item for i, item in enumerate(here)]
    made = {key: _changed(value, tree.below[key]) if key in tree.below else value for key, value in here.items()}
    if tree.edit is None:
        return made
    return {**tree.edit.values, "allOf": [made]} if tree.edit.wrap else {**made, **tree.edit.values}


def _spliced(source: Source, meant: dict[str, Any], edits: Sequence[Edit]) -> str | None:
    pointers = [edit.pointer for edit in edits]
    places = yaml_places(source.node, pointers) if source.node else json_places(source.text, pointers)
    try:
        text = splice(source.text, places, edits)
        back = read(text.encode(), source.name, len(text) * 4)
    except (CannotSplice, BadInput):
        return None
    return text if back.root == meant and back.media == source.media else None


def dumped(value: dict[str, Any], media: Media, like: str = "") -> str:
    """A document as text, indented as `like` is."""
    if media == "json":
        return json.dumps(value, indent=_indentation(like), ensure_ascii=False) + "\n"
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_YAML_WIDTH)


class _WritesOut:
    """Writes every value out: an alias would say that two places are one."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  PyYAML's signature
        return True


#: Written in C where PyYAML was built with libyaml.
_Dumper: type[Any] = type("_Dumper", (_WritesOut, getattr(yaml, "CSafeDumper", yaml.SafeDumper)), {})


def _indentation(text: str) -> int | str:
    lines = text.splitlines()
    return next((line[: len(line) - len(line.lstrip())] for line in lines[1:2] if line[:1].isspace()), 2)


def _encoded(text: str, encoding: str) -> bytes:
    """In the encoding it came in, where that is one of Unicode; else in UTF-8, which it should have been."""
    return text.encode("utf-8" if encoding == "latin-1" else encoding)
