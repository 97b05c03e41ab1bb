"""Tables in JSON, wherever they are nested: lists of objects, objects of objects, objects of texts, JSON lines."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from actors.enrichment.reference.rows import KEY_COLUMN, VALUE_COLUMN, Table

#: An object with fewer entries of one kind is a record, not a table.
_LEAST_ENTRIES = 2
#: Longest value of an owner that may serve as a heading: a path, an operation's name.
_HEADING_CHARACTERS = 120
#: Values of a list that are written into one cell.
_LIST_VALUES = 20

Trail = tuple[str, ...]


def read_json(text: str) -> list[Table] | None:
    """Every table in the document; None when the text is no JSON object or list."""
    document = _parsed(text)
    if not isinstance(document, dict | list):
        return None
    return list(_tables(document))


def fault(text: str) -> str:
    """Where a text stops being JSON, or JSON lines; empty for one that is."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines or not _fault(text, 1):
        return ""
    # One document over many lines is broken on its first; JSON lines are whole there.
    if _fault(lines[0][1], lines[0][0]):
        return _fault(text, 1)
    return next((found for number, line in lines if (found := _fault(line, number))), "")


def _fault(text: str, first_line: int) -> str:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as broken:
        return f"line {first_line + broken.lineno - 1}, column {broken.colno}"
    return ""


def _parsed(text: str) -> Any:
    start = text.lstrip()[:1]
    if start not in ("{", "["):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return _lines(text)


def _lines(text: str) -> list[Any] | None:
    try:
        return [orjson.loads(line) for line in text.splitlines() if line.strip()]
    except orjson.JSONDecodeError:
        return None


def _tables(document: Any) -> Iterator[Table]:
    """Depth first, in document order, with a stack of our own."""
    stack: list[tuple[Any, Trail]] = [(document, ())]
    while stack:
        value, trail = stack.pop()
        if isinstance(value, list):
            yield from _table(((row, {}) for row in value if isinstance(row, dict)), trail)
            inner = [part for row in value for part in _inside_row(row, trail)]
        elif isinstance(value, dict) and _holds_rows(value):
            yield from _table(((row, {KEY_COLUMN: key}) for key, row in value.items() if isinstance(row, dict)), trail)
            inner = [part for key, row in value.items() for part in _inside_row(row, (*trail, key))]
        elif isinstance(value, dict):
            yield from _texts(value, trail)
            inner = [(part, (*trail, key)) for key, part in value.items()]
        else:
            continue
        stack.extend(reversed([part for part in inner if isinstance(part[0], dict | list)]))


def _holds_rows(value: Mapping[str, Any]) -> bool:
    rows = [row for row in value.values() if isinstance(row, dict)]
    with_text = [row for row in rows if any(isinstance(cell, str) for cell in row.values())]
    return len(with_text) >= _LEAST_ENTRIES and 2 * len(with_text) > len(value)


def _table(rows: Iterator[tuple[Mapping[str, Any], dict[str, str]]], trail: Trail) -> Iterator[Table]:
    flat = tuple(before | _flat(row) for row, before in rows)
    if any(flat):
        yield Table(flat, trail)


def _texts(value: Mapping[str, Any], trail: Trail) -> Iterator[Table]:
    texts = {key: text for key, text in value.items() if isinstance(text, str)}
    if len(texts) >= _LEAST_ENTRIES:
        yield Table(tuple({KEY_COLUMN: key, VALUE_COLUMN: text} for key, text in texts.items()), trail)


def _inside_row(row: Any, trail: Trail) -> Iterator[tuple[Any, Trail]]:
    """What is nested in a row stands under the row's own short values: the path or name it belongs to."""
    if isinstance(row, list):
        yield row, trail
    elif isinstance(row, dict):
        owner = tuple(
            value for value in row.values() if isinstance(value, str) and 0 < len(value) <= _HEADING_CHARACTERS
        )
        for key, value in row.items():
            yield value, (*trail, *owner, key)


def _flat(row: Mapping[str, Any]) -> dict[str, str]:
    cells: dict[str, str] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            cells |= {f"{key}.{inner}": _cell(part) for inner, part in value.items() if not isinstance(part, dict)}
        else:
            cells[key] = _cell(value)
    return cells


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_cell(part) for part in value[:_LIST_VALUES] if not isinstance(part, dict | list))
    return "" if value is None or isinstance(value, dict) else str(value).strip()
