"""Which column of a table holds what: the keys, their meaning, a readable name, the endpoint a row speaks of (D13).

Decided by what the cells hold; a header's word only tips the scales between columns that both qualify.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from actors.enrichment.reference.names import Match, Names
from actors.enrichment.reference.rows import Row, Table
from clients.llm.words import is_related

_MEANING_HEADERS = ("description", "definition", "meaning", "explanation", "beschreibung", "bedeutung", "erläuterung")
_NAME_HEADERS = ("name", "label", "title", "term", "bezeichnung")
#: Matched rows that make a column one of keys: so many, or this share of a small table.
_LEAST_KEYS = 2
_LEAST_KEY_SHARE = 0.5
#: Mean length of cells with several words that makes a column one of meanings.
_LEAST_PROSE = 8
#: A column headed as a meaning is preferred when its cells are at least this share as long as the longest.
_HEADED_SHARE = 0.3
#: A column of names: cells are short, nearly all different, and mostly related to their keys.
_NAME_WORDS = 8
_LEAST_DIFFERENT = 0.8
_LEAST_RELATED = 0.6
#: Share of its filled cells that name an endpoint, in a column of scopes.
_LEAST_SCOPED = 0.6


@dataclass(frozen=True)
class Keyed:
    """A row whose key the definition knows."""

    row: Row
    match: Match


@dataclass(frozen=True)
class Columns:
    """What was found in a table; empty where it has no such column."""

    key: str
    meaning: str = ""
    name: str = ""
    scope: str = ""


def find(table: Table, names: Names) -> tuple[Columns, tuple[Keyed, ...]] | None:
    """The columns of a table and its rows about this definition; None when no column holds its names."""
    rows = list(_rows(table))
    best = max(((_keyed(rows, column, names), column) for column in table.columns), key=_by_matches, default=None)
    if best is None or not _is_enough(best[0], rows):
        return None
    keyed, key = best
    others = [column for column in table.columns if column != key]
    scope = next((column for column in others if _holds_endpoints(rows, column, names)), "")
    others = [column for column in others if column != scope]
    meaning = _meaning(keyed, others)
    name = next((column for column in others if column != meaning and _holds_names(keyed, column)), "")
    return Columns(key, meaning, name, scope), tuple(keyed)


def _rows(table: Table) -> Iterator[Row]:
    """A table without a header of its own may begin with a row."""
    if table.header_may_be_row:
        yield {column: column for column in table.columns}
    yield from table.rows


def _keyed(rows: Sequence[Row], column: str, names: Names) -> list[Keyed]:
    return [Keyed(row, match) for row in rows if (match := names.match(row.get(column, "")))]


def _by_matches(found: tuple[list[Keyed], str]) -> tuple[int, int]:
    keyed, _ = found
    distinct = {one.match.keys for one in keyed}
    return len(distinct), sum(one.match.exact for one in keyed)


def _is_enough(keyed: Sequence[Keyed], rows: Sequence[Row]) -> bool:
    distinct = len({one.match.keys for one in keyed})
    return distinct >= _LEAST_KEYS or (distinct > 0 and len(keyed) >= _LEAST_KEY_SHARE * len(rows))


def _holds_endpoints(rows: Sequence[Row], column: str, names: Names) -> bool:
    cells = [cell for row in rows if (cell := row.get(column, ""))]
    return bool(cells) and sum(bool(names.endpoints(cell)) for cell in cells) >= _LEAST_SCOPED * len(cells)


def _meaning(keyed: Sequence[Keyed], columns: Sequence[str]) -> str:
    prose = {column: _prose(keyed, column) for column in columns if not _is_labels(keyed, column)}
    longest = max(prose.values(), default=0.0)
    if longest < _LEAST_PROSE:
        return ""
    headed = [column for column in prose if _is_headed(column, _MEANING_HEADERS)]
    chosen = [column for column in headed if prose[column] >= max(_LEAST_PROSE, _HEADED_SHARE * longest)]
    return max(chosen or prose, key=lambda column: prose[column])


def _is_labels(keyed: Sequence[Keyed], column: str) -> bool:
    """Headed as a name and short: what a thing is called, not what it means."""
    return _is_headed(column, _NAME_HEADERS) and all(
        len(one.row.get(column, "").split()) <= _NAME_WORDS for one in keyed
    )


def _prose(keyed: Sequence[Keyed], column: str) -> float:
    cells = [one.row.get(column, "") for one in keyed]
    filled = [cell for cell in cells if cell]
    return sum(len(cell) for cell in filled if " " in cell) / len(filled) if filled else 0.0


def _holds_names(keyed: Sequence[Keyed], column: str) -> bool:
    cells = [(one, cell) for one in keyed if (cell := one.row.get(column, ""))]
    if not cells or any(len(cell.split()) > _NAME_WORDS for _, cell in cells):
        return False
    different = len({cell for _, cell in cells}) >= _LEAST_DIFFERENT * len({one.match.keys for one, _ in cells})
    worded = all(any(character.isalpha() for character in cell) for _, cell in cells)
    related = sum(is_related(cell, one.match.keys[0]) for one, cell in cells) >= _LEAST_RELATED * len(cells)
    return different and worded and (related or _is_headed(column, _NAME_HEADERS))


def _is_headed(column: str, words: Sequence[str]) -> bool:
    return any(word in column.lower() for word in words)
