"""How structure of other formats is kept in the text of a reference: as Markdown, which `tables` reads back."""

import re
from collections.abc import Sequence


def heading(level: int, text: str) -> str:
    """A heading line of level 1 to 6."""
    return f"{'#' * max(1, min(level, 6))} {one_line(text)}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table, its first row as the header; rows shorter than the longest are filled up. Empty for no cells."""
    width = max((len(row) for row in rows), default=0)
    if not width:
        return ""
    lines = [_line([*row, *[""] * (width - len(row))]) for row in rows]
    return "\n".join([lines[0], _line(["---"] * width), *lines[1:]])


def one_line(text: str) -> str:
    """White space of any kind as single blanks."""
    return re.sub(r"\s+", " ", text).strip()


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(one_line(cell).replace("\\", "\\\\").replace("|", "\\|") for cell in cells) + " |"
