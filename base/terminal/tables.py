"""How a table fits a terminal: what may not be cut stands whole, what can be spared goes, the rest shares the room."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from base.terminal.words import plain

if TYPE_CHECKING:
    from rich.console import Console

#: Columns between two cells.
_GAP = 2

#: Cut or folded into fewer columns than these, a text is no longer read.
_LEAST_CUT = 10
_LEAST_FOLDED = 24

#: A pipe has no width; this is wider than any row.
_PIPE_WIDTH = 1_000_000


@dataclass(frozen=True)
class Column:
    """A column. On a terminal that is too narrow it is shown whole unless it says otherwise.

    `cut` texts end in an ellipsis, `fold` texts take more lines. `spare` columns are left out before anything is cut
    below what can be read, the highest number first. Piped, all of this is without effect.
    """

    name: str
    right: bool = False
    cut: bool = False
    fold: bool = False
    spare: int = 0
    styles: Mapping[str, str] = field(default_factory=dict)

    def least(self, natural: int) -> int:
        """The fewest columns it is still read in, given how many its longest cell would take."""
        if self.fold:
            return min(natural, max(_LEAST_FOLDED, len(self.name)))
        return min(natural, max(_LEAST_CUT, len(self.name))) if self.cut else natural


def fit(columns: Sequence[Column], naturals: Sequence[int], width: int) -> list[int]:
    """How many columns of the terminal each gets, 0 for one that is left out.

    `naturals` are the lengths of their longest cells. Only if what may never be cut is wider than the terminal
    already, the sum is too.
    """
    least = [column.least(natural) for column, natural in zip(columns, naturals, strict=True)]
    by_need = sorted(range(len(columns)), key=lambda index: (-columns[index].spare, -index))
    for index in by_need:
        if _total(least) <= width or not columns[index].spare:
            break
        least[index] = 0
    return _shared(least, naturals, width)


def _shared(least: list[int], naturals: Sequence[int], width: int) -> list[int]:
    """What is left of the terminal goes to those that want more, equally, until nobody does."""
    widths = list(least)
    room = max(0, width - _total(least))
    while room:
        wanting = [index for index, given in enumerate(widths) if 0 < given < naturals[index]]
        if not wanting:
            break
        for index in wanting[:room]:
            widths[index] += 1
        room -= min(room, len(wanting))
    return widths


def _total(widths: Sequence[int]) -> int:
    shown = sum(1 for width in widths if width)
    return sum(widths) + _GAP * max(0, shown - 1)


def render(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """The table as lines for stdout; coloured only where that is a terminal."""
    from rich.cells import cell_len  # noqa: PLC0415  help and completion do without
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    terminal = sys.stdout.isatty()
    console = Console(file=sys.stdout, highlight=False) if terminal else _pipe()
    cells = [[plain(cell) for cell in row] for row in rows]
    naturals = [
        max(cell_len(cell) for cell in (column.name, *(row[index] for row in cells)))
        for index, column in enumerate(columns)
    ]
    widths = fit(columns, naturals, console.width)
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold" if terminal else "")
    for column, width in zip(columns, widths, strict=True):
        if width:
            table.add_column(
                column.name,
                width=width,
                justify="right" if column.right else "left",
                no_wrap=not column.fold,
                overflow="fold" if column.fold else "ellipsis",
            )
    for row in cells:
        shown = [(column, cell) for column, cell, width in zip(columns, row, widths, strict=True) if width]
        table.add_row(*(Text(cell, style=column.styles.get(cell, "")) for column, cell in shown))
    console.width = max(console.width, _total(widths))
    with console.capture() as captured:
        console.print(table)
    return [line.rstrip() for line in captured.get().splitlines()]


def _pipe() -> "Console":
    from rich.console import Console  # noqa: PLC0415

    return Console(file=sys.stdout, width=_PIPE_WIDTH, color_system=None, force_terminal=False, highlight=False)
