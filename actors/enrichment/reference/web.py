"""The text of an HTML page: headings, lists and tables as Markdown, scripts and styles left out."""

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from actors.enrichment.reference import markdown

_SKIPPED = frozenset(["head", "script", "style", "noscript", "template", "svg", "nav"])
_BLOCKS = frozenset(
    ["p", "div", "section", "article", "ul", "ol", "dl", "pre", "blockquote", "main", "header", "footer"]
)
_HEADING = re.compile(r"h([1-6])")
#: A cell may claim to span more rows than any table has.
_SPAN_LIMIT = 1000


def read(page: str) -> str:
    """The page's text as Markdown; empty when it has none."""
    tree = LexborHTMLParser(page)
    text = "".join(_pieces(tree.root)) if tree.root is not None else ""
    lines = (line.strip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _pieces(root: LexborNode) -> Iterator[str]:
    """Depth first with a stack of our own: a page may nest deeper than Python recurses."""
    stack: list[LexborNode | str] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            yield node
        elif node.tag == "-text":
            yield re.sub(r"\s+", " ", node.text_content or "")
        elif node.tag == "table":
            yield f"\n\n{markdown.table(_rows(node))}\n\n"
        elif level := _HEADING.fullmatch(node.tag or ""):
            yield f"\n\n{markdown.heading(int(level.group(1)), node.text())}\n\n"
        elif node.tag not in _SKIPPED:
            before, after = _around(node.tag or "")
            stack.append(after)
            stack.extend(reversed(list(node.iter(include_text=True))))
            yield before


def _around(tag: str) -> tuple[str, str]:
    if tag in _BLOCKS:
        return "\n\n", "\n\n"
    return {"br": ("\n", ""), "li": ("\n- ", ""), "dt": ("\n- **", "**: "), "dd": ("", "\n")}.get(tag, ("", ""))


def _rows(table: LexborNode) -> list[list[str]]:
    """Cells with spans written out: a cell that spans rows says the same of each of them."""
    rows: list[list[str]] = []
    hanging: dict[int, tuple[int, str]] = {}
    for row in table.css("tr"):
        cells: list[str] = []
        for cell in row.css("td, th"):
            _take_hanging(cells, hanging)
            text = cell.text(separator=" ")
            for _ in range(_span(cell, "colspan")):
                if (down := _span(cell, "rowspan")) > 1:
                    hanging[len(cells)] = (down - 1, text)
                cells.append(text)
        _take_hanging(cells, hanging)
        rows.append(cells)
    return [row for row in rows if any(cell.strip() for cell in row)]


def _take_hanging(cells: list[str], hanging: dict[int, tuple[int, str]]) -> None:
    while len(cells) in hanging:
        column = len(cells)
        left, text = hanging.pop(column)
        if left > 1:
            hanging[column] = (left - 1, text)
        cells.append(text)


def _span(cell: LexborNode, attribute: str) -> int:
    value = cell.attributes.get(attribute) or ""
    return max(1, min(int(value), _SPAN_LIMIT)) if value.isascii() and value.isdigit() else 1
