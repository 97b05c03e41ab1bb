"""Which reader a reference document gets. Runs in the child process that `text` starts, never in the application."""

from pathlib import PurePath

from actors.enrichment.reference import decoding, pdf, web, word
from base.errors import BadInput

_PLAIN = frozenset([".txt", ".text", ".md", ".markdown", ".csv", ".tsv", ".json"])
_PAGES = frozenset([".html", ".htm"])
_PDF_MARK = b"%PDF-"
#: Readers of PDF look for the mark this far into a file.
_MARK_WITHIN = 1024
KINDS = "txt, md, csv, tsv, json, html, pdf or docx"


def read(name: str, data: bytes) -> str:
    """The text of one reference document, clean and not empty (E4).

    Raises:
        BadInput: a kind nobody here reads, or a file whose text can't be had; the sentence says what to do.
    """
    text = decoding.clean(_text(name, PurePath(name).suffix.lower(), data))
    if not text.strip():
        raise BadInput(f"{name} is empty: there is nothing to learn from it. Leave it out or give another file.")
    return text


def _text(name: str, suffix: str, data: bytes) -> str:
    if not data.strip():
        return ""
    if _PDF_MARK in data[:_MARK_WITHIN]:  # also under a wrong name
        return pdf.read(name, data)
    if suffix == ".pdf":
        raise BadInput(f"{name} is no PDF, or its beginning is missing. Get the whole file again.")
    if suffix == ".docx":
        return word.read(name, data)
    if suffix not in _PLAIN | _PAGES:
        raise BadInput(f"{name} can't be read: {suffix or 'a file without an ending'} is not supported. Give {KINDS}.")
    text = decoding.decode(data)
    if text is None:
        raise BadInput(f"{name} holds no text, whatever its name says. Give {KINDS}.")
    return web.read(text) if suffix in _PAGES else text
