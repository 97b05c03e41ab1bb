"""Bytes of a text file as clean text, whatever encoding they are in, and never a character PostgreSQL refuses."""

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
#: Controls but tab and line feed, and lone halves of surrogate pairs: neither text nor storable (notes: wire details).
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
#: Share of NUL bytes at one parity that makes bytes without a mark UTF-16.
_UTF16_SHARE = 0.3
#: Share of such characters up to which a file still counts as text.
_TOLERATED_SHARE = 0.02
#: Bytes looked at to guess.
_SAMPLE_BYTES = 20_000


def decode(data: bytes) -> str | None:
    """The text of a file, line ends unified, controls and lone surrogates taken out; None when it is no text."""
    text = _decoded(data)
    cleaned = clean(text)
    taken_out = len(text.replace("\r", "")) - len(cleaned.replace("\r", ""))
    return None if taken_out > _TOLERATED_SHARE * len(text) + 2 else cleaned


def clean(text: str) -> str:
    """Without NUL, other controls and lone surrogates; CR LF and CR become LF, a form feed an empty line."""
    unified = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x0c", "\n\n").replace("\x0b", "\n")
    return _NOT_TEXT.sub("", unified.removeprefix("\ufeff"))


def _decoded(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    if wide := _unmarked_utf16(data):
        return data.decode(wide, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _mostly_utf8(data) or data.decode("cp1252", "replace")


def _unmarked_utf16(data: bytes) -> str | None:
    sample = data[:_SAMPLE_BYTES]
    half = len(sample) // 2 or 1
    if sample[1::2].count(0) > _UTF16_SHARE * half and sample[0::2].count(0) < sample[1::2].count(0):
        return "utf-16-le"
    if sample[0::2].count(0) > _UTF16_SHARE * half and sample[1::2].count(0) < sample[0::2].count(0):
        return "utf-16-be"
    return None


def _mostly_utf8(data: bytes) -> str | None:
    """A UTF-8 file with a few broken bytes (cut in the middle of a letter) is not to turn into mojibake as a whole."""
    text = data.decode("utf-8", "replace")
    good = sum(1 for character in text if "\x7f" < character != "\ufffd")
    return text if good > text.count("\ufffd") else None
