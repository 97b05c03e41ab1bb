"""The offline model's digest of a reference: lines that define a name of the inventory, quoted, nothing else (E12).

A reference cut in the middle is read as far as it goes. In one written section by section, a section whose heading
names an endpoint holds there alone, and one that names an unknown endpoint is left out.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from clients.llm.words import fold

Data = Mapping[str, Any]

_HEADING = re.compile(r"#{1,6}\s+(.*)$")
_RULE = re.compile(r"[\s|:-]+$")
_RECORD = re.compile(r"\{[^{}]*\}")
_DEFINITION = re.compile(
    r"\s*((?:[-*+]\s+)?[{`*]{0,2})([\w.$\[\]-]{2,80}?)[}`*]{0,2}\s*(?::[}`*]{0,2}\s|=\s|\s[-\u2013\u2014]\s)\s*(\S.*)$"
)
_SENTENCE = re.compile(r"\s*(?:[-*+]\s+)?\{([\w.$-]+)\}\s+(\S.*)$")
#: A meaning is at least two words.
_LEAST_WORDS = 2


def digest(data: Data) -> Data:
    """One entry per name and place of `inventory` that `reference` defines, none where that contradicts itself."""
    inventory: Sequence[Data] = data.get("inventory", ())
    known = _Known(name for row in inventory for name in row.get("fields", ()))
    meanings: dict[tuple[str, tuple[str, ...]], dict[str, str]] = defaultdict(dict)
    for endpoints, lines in _sections(data.get("reference", ""), [row.get("endpoint", "") for row in inventory]):
        for key, meaning, marked in _defined(lines):
            if (name := known.name(key, marked=marked)) and len(meaning.split()) >= _LEAST_WORDS:
                meanings[name, endpoints].setdefault(fold(meaning), meaning)
    return {
        "entries": [
            {"key": name, "kind": "field", "meaning": next(iter(said.values())), "endpoints": list(ends), "note": ""}
            for (name, ends), said in meanings.items()
            if len(said) == 1
        ]
    }


class _Known:
    """The names of the inventory."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = dict.fromkeys(names)
        self._folded = {fold(name): name for name in reversed(self._names)}

    def name(self, key: str, *, marked: bool) -> str | None:
        """The name a key means. A bare word before a colon may be any word, so it has to be written just so."""
        return self._folded.get(fold(key)) if marked else (key if key in self._names else None)


def _sections(reference: str, endpoints: Sequence[str]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """The lines under each heading with the endpoints it names; under other headings only if no heading names any."""
    sections: list[tuple[str, list[str]]] = [("", [])]
    for line in reference.split("\n"):
        if heading := _HEADING.match(line):
            sections.append((heading.group(1), []))
        else:
            sections[-1][1].append(line)
    named = [tuple(one for one in endpoints if heading and _names(heading, one)) for heading, _ in sections]
    for (_, lines), scope in zip(sections, named, strict=True):
        if scope or not any(named):
            yield scope, lines


def _names(heading: str, endpoint: str) -> bool:
    path = endpoint.split(" ", 1)[-1]
    last = next((part for part in reversed(path.split("/")) if part and not part.startswith("{")), "")
    return path in heading.split() or endpoint in heading or (bool(last) and fold(heading) == fold(last))


def _defined(lines: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """Key, meaning, and whether the key is marked as a name: by its place in a table, by backticks or braces."""
    for record in _RECORD.finditer("\n".join(lines)):
        yield from _from_cells(_cells_of_record(record.group()))
    for line in lines:
        if line.count("|") > 1:
            if not _RULE.match(line):
                yield from _from_cells([re.sub(r"[`*{}]|<br\s*/?>", " ", cell).strip() for cell in line.split("|")])
        elif line.count("\t"):
            yield from _from_cells([cell.strip() for cell in line.split("\t")])
        elif sentence := _SENTENCE.match(line):
            yield sentence.group(1), re.sub(r"[{}]", "", line).strip(), True
        elif definition := _DEFINITION.match(line):
            yield definition.group(2), definition.group(3).strip(), bool(definition.group(1))


def _cells_of_record(record: str) -> list[str]:
    try:
        values = json.loads(record).values()
    except (json.JSONDecodeError, RecursionError):
        return []
    return [value.strip() for value in values if isinstance(value, str)]


def _from_cells(cells: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """Every cell may be the key; the longest is what is said of it."""
    meaning = max(cells, key=len, default="")
    for cell in cells:
        if cell and cell != meaning:
            yield cell, meaning, True
