"""The text of a PDF, page by page; one whose text can't be had is refused with a sentence that says why."""

import io

import pypdf
from pypdf.errors import DependencyError, PyPdfError

from base.errors import BadInput


def read(name: str, data: bytes) -> str:
    """The text of all pages, an empty line between two.

    Raises:
        BadInput: broken or cut off, encrypted, or without text (a scan).
    """
    try:
        pages = _open(name, data).pages
        texts = [page.extract_text() for page in pages]
    except BadInput:
        raise
    except DependencyError:
        raise BadInput(f"{name} is encrypted and can't be read here. Save it without encryption.") from None
    except (PyPdfError, ValueError, KeyError, IndexError, TypeError, AttributeError, OSError, RecursionError):
        raise BadInput(f"{name} is broken or cut off: its pages can't be read. Get the whole file again.") from None
    if not texts:
        raise BadInput(f"{name} has no pages: it may be cut off. Get the whole file again.")
    text = "\n\n".join(texts)
    if not any(character.isalnum() for character in text):
        raise BadInput(
            f"{name} has no text in its {len(texts)} page{'s' if len(texts) > 1 else ''}: "
            "a scan or a blank form. Run text recognition (OCR) over it first."
        )
    return text


def _open(name: str, data: bytes) -> pypdf.PdfReader:
    reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
    # Many files are encrypted only against changes: the empty password opens them.
    if reader.is_encrypted and not reader.decrypt(""):
        raise BadInput(f"{name} is protected by a password. Save it without one.")
    return reader
