"""Text of reference documents: every supported kind, every encoding, and one clear sentence for what can't be read."""

import io
import zipfile
from datetime import timedelta
from pathlib import Path

import docx
import pypdf
import pytest

from actors.enrichment.reference import decoding, text
from base.errors import BadInput
from base.settings import Limits

DATA = Path(__file__).parents[2] / "data"
LIMITS = Limits()


def refusal(name: str, data: bytes, limits: Limits = LIMITS) -> str:
    with pytest.raises(BadInput) as refused:
        text.extract(name, data, limits)
    return str(refused.value)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_plain_text_is_read_in_any_encoding(encoding: str) -> None:
    written = "Straße: Größe des Gebäudes\nname: Name\n"
    assert decoding.decode(written.encode(encoding)) == written


def test_utf8_cut_inside_a_letter_does_not_turn_into_mojibake() -> None:
    whole = "Gebäude und Größen".encode()
    assert decoding.decode(whole[: whole.index("ß".encode()) + 1]) == "Gebäude und Grö\ufffd"


def test_nul_controls_and_lone_surrogates_are_taken_out() -> None:
    assert decoding.clean("a\x00b\x07c\ud800d\r\ne\rf\tg") == "abcd\ne\nf\tg"
    lonely = b"x" * 50 + b"\xd8\x00"
    assert "\x00" not in (decoding.decode(lonely) or "")


def test_bytes_that_are_no_text_are_known() -> None:
    assert decoding.decode(bytes(range(1, 32)) * 100) is None


def test_a_text_file_comes_through_as_it_is() -> None:
    assert text.extract("notes.md", b"# Title\r\n\r\nA line.\r\n", LIMITS) == "# Title\n\nA line.\n"


def test_the_text_of_a_pdf_is_read() -> None:
    read = text.extract("application.pdf", (DATA / "norwegian-application.pdf").read_bytes(), LIMITS)
    assert "Søknad om tilskudd" in read
    assert "Ærfugl Borettslag" in read


def test_a_pdf_under_a_wrong_name_is_read_all_the_same() -> None:
    assert "Søknad" in text.extract("application.txt", (DATA / "norwegian-application.pdf").read_bytes(), LIMITS)


def test_a_cut_off_pdf_is_refused() -> None:
    said = refusal("truncated.pdf", (DATA / "truncated.pdf").read_bytes())
    assert said == "truncated.pdf is broken or cut off: its pages can't be read. Get the whole file again."


def test_a_pdf_without_text_is_refused() -> None:
    writer, out = pypdf.PdfWriter(), io.BytesIO()
    writer.add_blank_page(100, 100)
    writer.write(out)
    assert "scan.pdf has no text in its 1 page" in refusal("scan.pdf", out.getvalue())
    assert "text recognition" in refusal("scan.pdf", out.getvalue())


def test_a_pdf_behind_a_password_is_refused() -> None:
    writer, out = pypdf.PdfWriter(), io.BytesIO()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(out)
    assert refusal("locked.pdf", out.getvalue()) == "locked.pdf is protected by a password. Save it without one."


@pytest.mark.parametrize("data", [b"no pdf", b"%PDF-1.4\n"])
def test_what_only_claims_to_be_a_pdf_is_refused(data: bytes) -> None:
    assert "claims.pdf" in refusal("claims.pdf", data)


def test_a_word_document_keeps_headings_order_and_tables() -> None:
    document, out = docx.Document(), io.BytesIO()
    document.add_heading("Fields", level=2)
    document.add_paragraph("All of them.")
    table = document.add_table(rows=2, cols=2)
    for cell, content in zip(table._cells, ["Key", "Meaning", "custNo", "Number | of a\ncustomer"], strict=True):
        cell.text = content
    document.add_paragraph("The end.")
    document.save(out)
    assert text.extract("fields.docx", out.getvalue(), LIMITS) == (
        "## Fields\n\nAll of them.\n\n"
        "| Key | Meaning |\n| --- | --- |\n| custNo | Number \\| of a customer |\n\nThe end."
    )


def test_a_broken_or_encrypted_word_document_is_refused() -> None:
    assert "is no Word document" in refusal("a.docx", b"PK\x03\x04 nothing")
    assert "encrypted" in refusal("b.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 rest")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("word/document.xml", "<broken")
    assert "is no Word document" in refusal("c.docx", out.getvalue())


def test_html_gives_text_with_tables_and_headings_as_markdown() -> None:
    page = """<html><head><title>x</title><style>p{}</style></head><body><h2>GET /a</h2><script>bad()</script>
    <p>One&nbsp;<b>bold</b>
    line<br>two</p><ul><li>first</li><li>second</li></ul><dl><dt>act<dd>Active only</dl>
    <table><tr><th>Key<th>Scope<th>Meaning</tr><tr><td>a<td rowspan=2>GET /x<td>A thing</tr>
    <tr><td>b<td>B thing</tr></table></body></html>"""
    read = text.extract("page.html", page.encode(), LIMITS)
    assert "bad()" not in read
    assert "p{}" not in read
    assert "## GET /a\n\nOne bold line\ntwo" in read
    assert "- first\n- second" in read
    assert "- **act**: Active only" in read
    assert "| Key | Scope | Meaning |\n| --- | --- | --- |\n| a | GET /x | A thing |\n| b | GET /x | B thing |" in read


def test_deeply_nested_html_is_read() -> None:
    page = "<div>" * 20_000 + "deep" + "</div>" * 20_000
    assert text.extract("deep.html", page.encode(), LIMITS) == "deep"


@pytest.mark.parametrize("name", ["empty.txt", "empty.pdf", "empty.docx", "empty.json"])
def test_an_empty_file_is_refused(name: str) -> None:
    assert f"{name} is empty" in refusal(name, b" \n")


def test_other_kinds_are_refused_with_the_kinds_that_are_read() -> None:
    assert ".xlsx is not supported" in refusal("book.xlsx", b"PK\x03\x04")
    assert "Give txt, md, csv" in refusal("README", b"text")
    assert "holds no text" in refusal("picture.txt", bytes(range(256)) * 10)


def test_a_file_over_the_limit_is_refused_unread() -> None:
    said = refusal("big.txt", b"x" * 11, Limits(reference_bytes=10))
    assert said.startswith("big.txt is too large: 11 bytes of at most 10.")


def test_a_file_that_takes_too_long_is_given_up() -> None:
    said = refusal("slow.md", b"x", Limits(extraction_timeout=timedelta(milliseconds=1)))
    assert "could not be read within 0.001 s" in said


def test_references_are_joined_under_their_names_in_the_order_given() -> None:
    assert text.joined([("b.md", "second\n"), ("a.txt", "first")]) == "# b.md\n\nsecond\n\n# a.txt\n\nfirst"
