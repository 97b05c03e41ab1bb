"""The tables in the text of a reference: rows with named columns, and what they stand under (D13).

JSON, CSV and Markdown; html and docx arrive as Markdown already. Lines that define a name (`{key} is ...`,
"- `key`: ...") count as a table of two columns.
"""

from pathlib import PurePath

from actors.enrichment.reference.csv_tables import read_csv
from actors.enrichment.reference.json_tables import fault, read_json
from actors.enrichment.reference.markdown_tables import read_markdown
from actors.enrichment.reference.rows import Table

_DELIMITED = frozenset([".csv", ".tsv"])


def read(name: str, text: str) -> list[Table]:
    """Every table of a reference, in reading order; none when it is prose."""
    suffix = PurePath(name).suffix.lower()
    if suffix in _DELIMITED:
        return read_csv(text)
    if (tables := read_json(text)) is not None:
        return tables
    return read_markdown(text) or (read_csv(text, doubtful=True) if suffix == ".txt" else [])


def broken_at(name: str, text: str) -> str:
    """Where a reference that calls itself JSON is none; empty for any other."""
    return fault(text) if PurePath(name).suffix.lower() == ".json" else ""


def is_tables_only(name: str, text: str) -> bool:
    """Whether a reference is data from end to end, without prose of its own between its tables."""
    return PurePath(name).suffix.lower() in _DELIMITED or read_json(text) is not None
