"""Tables of delimited lines; the delimiter is the one that parts the lines into the same number of cells."""

import csv
from collections import Counter
from itertools import islice

from actors.enrichment.reference.rows import Table, with_header

_DELIMITERS = ",;\t|"
#: Lines looked at to find the delimiter.
_SAMPLE_LINES = 50
#: Share of the sample that must agree on the number of cells.
_AGREEMENT = 0.6
#: The same where the file's name doesn't say that it is a table, and the lines that takes.
_DOUBTFUL_AGREEMENT = 0.95
_DOUBTFUL_LINES = 3


def read_csv(text: str, *, doubtful: bool = False) -> list[Table]:
    """The one table of a delimited text, or none. `doubtful`: it may as well be prose with commas in it."""
    delimiter = _delimiter(text, doubtful=doubtful)
    if delimiter is None:
        return []
    lines = _records(text, delimiter)
    first = next((position for position, line in enumerate(lines) if sum(map(bool, line)) > 1), 0)
    table = with_header(lines[first:], certain=False)
    return [table] if table else []


def _delimiter(text: str, *, doubtful: bool) -> str | None:
    best: tuple[float, int] = (0.0, 1)
    chosen = None
    for delimiter in _DELIMITERS:
        lines = _records(text, delimiter, limit=_SAMPLE_LINES)
        widths = Counter(len(line) for line in lines if len(line) > 1)
        if not widths or (doubtful and len(lines) < _DOUBTFUL_LINES):
            continue
        width, agreeing = widths.most_common(1)[0]
        score = (agreeing / len(lines), width)
        if score[0] >= (_DOUBTFUL_AGREEMENT if doubtful else _AGREEMENT) and score > best:
            best, chosen = score, delimiter
    return chosen


def _records(text: str, delimiter: str, limit: int | None = None) -> list[list[str]]:
    """Non-empty records as far as they can be parsed; a quote that never ends is where a table ends."""
    records: list[list[str]] = []
    try:
        records.extend(islice(csv.reader(text.splitlines(keepends=True), delimiter=delimiter), limit))
    except csv.Error:
        return []
    return [[cell.strip() for cell in record] for record in records if any(cell.strip() for cell in record)]
