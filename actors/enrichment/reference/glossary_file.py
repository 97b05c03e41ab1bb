"""The user's own glossary, the last word on what a token means (D14): a table in CSV, JSON or Markdown.

Columns key, name, meaning, endpoints, note; only the key and one of name and meaning are needed. In JSON
`{"token": "meaning"}` and `{"token": {"name": ..., "meaning": ...}}` do as well.
"""

import re
from collections.abc import Iterator, Mapping

from actors.enrichment import cleaning
from actors.enrichment.reference import tables
from actors.enrichment.reference.rows import KEY_COLUMN, VALUE_COLUMN, Row, Table
from actors.enrichment.reference.text import extract
from base.errors import BadInput
from base.settings import Limits
from schema.enrichment.glossary import GlossaryEntry, Kind

#: What a column may be headed; the first that is there counts.
_HEADERS: Mapping[str, tuple[str, ...]] = {
    "key": (KEY_COLUMN, "key", "token", "field", "parameter", "identifier"),
    "name": ("name", "label", "title"),
    "meaning": (VALUE_COLUMN, "meaning", "description", "definition", "text"),
    "endpoints": ("endpoints", "endpoint", "scope", "where"),
    "note": ("note", "notes"),
}
_ENDPOINT = re.compile(r"[A-Z]+ /\S*")


def read(name: str, data: bytes, limits: Limits) -> tuple[GlossaryEntry, ...]:
    """Every row as an entry of source `user`: keys as the user wrote them, texts made fit to store (D9).

    Blocks while the text is extracted.

    Raises:
        BadInput: the file can't be read, or holds no glossary.
    """
    text = extract(name, data, limits)
    entries = [entry for table in tables.read(name, text) for entry in _entries(table)]
    if not entries:
        raise BadInput(
            f"{name} holds no glossary. Give a table (CSV, JSON or Markdown) with the columns key, name, meaning, "
            "endpoints and note; a key and a name or meaning are enough."
        )
    first: dict[tuple[str, tuple[str, ...]], GlossaryEntry] = {}
    for entry in entries:
        first.setdefault((entry.key, entry.endpoints), entry)
    return tuple(first.values())


def _entries(table: Table) -> Iterator[GlossaryEntry]:
    columns = _columns(table)
    for row in table.rows:
        key = _cell(row, columns, "key")
        name = cleaning.name(_cell(row, columns, "name"))
        meaning = cleaning.description(_cell(row, columns, "meaning"))
        if key and (name or meaning):
            yield GlossaryEntry(
                key=key,
                kind=_kind(key),
                name=name,
                meaning=meaning,
                endpoints=tuple(_endpoints(_cell(row, columns, "endpoints"))),
                note=_cell(row, columns, "note"),
                source="user",
            )


def _columns(table: Table) -> dict[str, str]:
    """The column of each part; without one headed as the key, the first column is it, and of two the other means."""
    written = {column.lower(): column for column in table.columns}
    found = {
        part: next((written[header] for header in headers if header in written), "")
        for part, headers in _HEADERS.items()
    }
    if not found["key"]:
        first, *others = table.columns
        found = {part: "" if column == first else column for part, column in found.items()} | {"key": first}
        if not found["name"] and not found["meaning"] and len(others) == 1:
            found["meaning"] = others[0]
    return found


def _cell(row: Row, columns: Mapping[str, str], part: str) -> str:
    return row.get(columns[part], "").strip() if columns[part] else ""


def _kind(key: str) -> Kind:
    return "endpoint" if _ENDPOINT.fullmatch(key) else "field"


def _endpoints(cell: str) -> Iterator[str]:
    """`GET /a, POST /b`: each is a method and a path."""
    for part in re.split(r"[,;|\n]", cell):
        if words := part.split():
            yield " ".join([words[0].upper(), *words[1:]])
