"""The text of a Word document (docx) in reading order: headings and tables as Markdown."""

import io
import re
import zipfile

import docx
from docx.document import Document
from docx.opc.exceptions import OpcError
from docx.table import Table
from docx.text.paragraph import Paragraph

from actors.enrichment.reference import markdown
from base.errors import BadInput

#: The container of encrypted docx files and of the old doc format.
_OLE_MARK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def read(name: str, data: bytes) -> str:
    """Paragraphs, headings and tables of the body, in order.

    Raises:
        BadInput: encrypted, the old `doc` format, or broken.
    """
    if data.startswith(_OLE_MARK):
        raise BadInput(
            f"{name} is encrypted, or of the old doc format. Save it as docx without a password, or give its text."
        )
    try:  # lxml's complaints about XML are SyntaxErrors
        document = docx.Document(io.BytesIO(data))
        return "\n\n".join(_blocks(document))
    except (OpcError, zipfile.BadZipFile, SyntaxError, KeyError, ValueError, AttributeError, OSError, EOFError):
        raise BadInput(f"{name} is no Word document, or broken or cut off. Save it as docx again.") from None


def _blocks(document: Document) -> list[str]:
    blocks = [
        _paragraph(block) if isinstance(block, Paragraph) else _table(block) for block in document.iter_inner_content()
    ]
    return [block for block in blocks if block.strip()]


def _paragraph(paragraph: Paragraph) -> str:
    style = paragraph.style.name if paragraph.style is not None else ""
    numbered = re.fullmatch(r"Heading (\d)", style or "")
    if numbered and paragraph.text.strip():
        return markdown.heading(int(numbered.group(1)), paragraph.text)
    return paragraph.text


def _table(table: Table) -> str:
    return markdown.table([[cell.text for cell in row.cells] for row in table.rows])
