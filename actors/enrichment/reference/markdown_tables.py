"""Tables and definition lines in Markdown, each with the headings it stands under."""

import html
import re
from collections.abc import Iterator, Sequence

from actors.enrichment.reference.rows import KEY_COLUMN, VALUE_COLUMN, Table, with_header

_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
#: A line that is bold from end to end works as a heading below all others.
_BOLD_HEADING = re.compile(r"\s*(?:\*\*|__)([^*_|]+?)(?:\*\*|__)\s*:?\s*$")
_BOLD_LEVEL = 7
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_FENCE = re.compile(r"\s*(```|~~~)")
#: A name marked as one (`{key}`, "`key`", `**key**`) at the start of a line, then what is said of it.
_MARKED = re.compile(r"\s*(?:[-*+]\s+)?(?:\{([^{}]+)\}|`([^`]+)`|\*\*([^*]+)\*\*)\s*(:|[-\u2013\u2014]\s|=)?\s*(\S.*)$")
#: A bare name in a list, with a separator after it.
_LISTED = re.compile(r"\s*[-*+]\s+([\w.$\[\]-]+)\s*(?::|\s[-\u2013\u2014=]\s)\s*(\S.*)$")
_MARKUP = re.compile(r"[*_`<\[{\\&]")
#: Longer cells keep their markup: what takes it out is quadratic in the length of a hostile one.
_MARKUP_CHARACTERS = 4000
_CELL_END = re.compile(r"(?<!\\)\|")


def read_markdown(text: str) -> list[Table]:
    """Every table in reading order; the definition lines of a section make one table."""
    return [table for section in _sections(text.split("\n")) for table in _tables(*section)]


def plain(cell: str) -> str:
    """A cell or line without its markup."""
    if len(cell) > _MARKUP_CHARACTERS or not _MARKUP.search(cell):
        return re.sub(r"\s+", " ", cell).strip()
    text = re.sub(r"<br\s*/?>", " ", cell, flags=re.IGNORECASE)
    text = re.sub(r"</?[a-zA-Z][^<>]*>", "", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"(\*\*|__|`)(.+?)\1", r"\2", text)
    text = re.sub(r"(?<!\w)[*_](?=\S)([^*_]+)(?<=\S)[*_](?!\w)", r"\1", text)
    text = re.sub(r"\{([^{}\s]+)\}", r"\1", text)
    text = re.sub(r"\\([|\\`*_{}\[\]()#+.!-])", r"\1", text)
    return re.sub(r"\s+", " ", html.unescape(text)).strip()


def _sections(lines: Sequence[str]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Lines between two headings, with the trail of headings above them; code blocks are left out."""
    trail: dict[int, str] = {}
    section: list[str] = []
    fence = ""
    for line in lines:
        if (mark := _FENCE.match(line)) and fence in ("", mark.group(1)):
            fence = "" if fence else mark.group(1)
        elif fence:
            continue
        elif found := _heading(line):
            yield tuple(trail.values()), section
            section = []
            level, title = found
            trail = {known: text for known, text in trail.items() if known < level} | {level: title}
        else:
            section.append(line)
    yield tuple(trail.values()), section


def _heading(line: str) -> tuple[int, str] | None:
    if heading := _HEADING.match(line):
        return len(heading.group(1)), plain(heading.group(2))
    if bold := _BOLD_HEADING.match(line):
        return _BOLD_LEVEL, plain(bold.group(1))
    return None


def _tables(headings: tuple[str, ...], lines: list[str]) -> Iterator[Table]:
    definitions: list[dict[str, str]] = []
    position = 0
    while position < len(lines):
        if "|" in lines[position] and position + 1 < len(lines) and _is_rule(lines[position + 1]):
            end = position + 2
            while end < len(lines) and "|" in lines[end]:
                end += 1
            rows = [_cells(line) for line in [lines[position], *lines[position + 2 : end]]]
            if table := with_header(rows, headings, certain=True):
                yield table
            position = end
        else:
            definitions.extend(_definition(lines, position))
            position += 1
    if definitions:
        yield Table(tuple(definitions), headings)


def _is_rule(line: str) -> bool:
    return "|" in line and _RULE.match(line) is not None


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = re.sub(r"(?<!\\)\|$", "", inner)
    return [plain(cell) for cell in _CELL_END.split(inner)]


def _definition(lines: Sequence[str], position: int) -> Iterator[dict[str, str]]:
    line = lines[position]
    if marked := _MARKED.match(line):
        key = next(part for part in marked.group(1, 2, 3) if part)
        said = _continued(marked.group(5), lines, position)
        # "`key`: text" says it in the text; "{key} is text" only as a sentence.
        yield {KEY_COLUMN: plain(key).rstrip(":."), VALUE_COLUMN: plain(said if _parted(marked) else f"{key} {said}")}
    elif listed := _LISTED.match(line):
        yield {KEY_COLUMN: listed.group(1), VALUE_COLUMN: plain(_continued(listed.group(2), lines, position))}


def _parted(marked: "re.Match[str]") -> bool:
    return bool(marked.group(4)) or any(part and part.rstrip().endswith((":", ".")) for part in marked.group(1, 2, 3))


def _continued(text: str, lines: Sequence[str], position: int) -> str:
    """With the indented lines that go on with it."""
    for line in lines[position + 1 :]:
        if not line.startswith(("  ", "\t")) or not line.strip() or _MARKED.match(line) or _LISTED.match(line):
            break
        text += " " + line.strip()
    return text
