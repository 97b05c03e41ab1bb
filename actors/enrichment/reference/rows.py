"""What a table is, whatever it was written in."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

#: The column of names that stand before their rows: keys of a JSON object, names of definition lines.
KEY_COLUMN = "(key)"
#: The column of the texts that such names stand for.
VALUE_COLUMN = "(value)"

Row = Mapping[str, str]


@dataclass(frozen=True)
class Table:
    """Rows by column, and the headings (in JSON the keys and the owner's values) they stand under, outermost first.

    `header_may_be_row`: nothing but its place says that the first line is a header.
    """

    rows: tuple[Row, ...]
    headings: tuple[str, ...] = ()
    header_may_be_row: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that occurs, in order."""
        return tuple(dict.fromkeys(column for row in self.rows for column in row))


def with_header(lines: Iterable[Sequence[str]], headings: tuple[str, ...] = (), *, certain: bool) -> Table | None:
    """The first line names the columns; columns without a name or with another's get one of their own."""
    numbered = [tuple(cell.strip() for cell in line) for line in lines]
    if len(numbered) < 2:  # noqa: PLR2004  a header and a row
        return None
    columns: list[str] = []
    for position, column in enumerate(numbered[0], start=1):
        columns.append(column if column and column not in columns else f"column {position}")
    rows = tuple(dict(zip(columns, line, strict=False)) for line in numbered[1:] if any(line))
    return Table(rows, headings, header_may_be_row=not certain) if rows else None
