"""The text of the reference documents a user attaches, extracted where a stranger's bytes can do no harm (E4)."""

from collections.abc import Iterable

from base import child
from base.errors import BadInput
from base.settings import Limits

_READER = "actors.enrichment.reference.formats:read"


def extract(name: str, data: bytes, limits: Limits) -> str:
    """The text of one reference document (txt, md, csv, tsv, json, html, pdf, docx), in a killable child (E4).

    Tables and headings of html and docx come as Markdown. The text is never empty and holds no NUL, no other control
    but tab and line feed, and no lone surrogate. Blocks for as long as the child runs.

    Raises:
        BadInput: too large, too slow, of a kind nobody here reads, or without readable text.
    """
    if len(data) > limits.reference_bytes:
        raise BadInput(
            f"{name} is too large: {len(data):,} bytes of at most {limits.reference_bytes:,}. "
            "Give the part of it that speaks of this API."
        )
    try:
        return str(child.run(_READER, name, data, timeout=limits.extraction_timeout))
    except child.TimedOut:
        seconds = limits.extraction_timeout.total_seconds()
        raise BadInput(f"{name} could not be read within {seconds:g} s. Give a smaller file, or its text.") from None
    except child.OutOfMemory:
        raise BadInput(f"{name} needs too much memory to be read. Give a smaller file, or its text.") from None
    except child.ChildFailed:
        raise BadInput(f"{name} can't be read: its reader failed on it. Give its text instead.") from None


def joined(texts: Iterable[tuple[str, str]]) -> str:
    """Several references as one text, each under its file name, in the order given (E4)."""
    return "\n\n".join(f"# {name}\n\n{text.strip()}" for name, text in texts)
