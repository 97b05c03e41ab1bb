"""What a model wrote, made fit to store and to show: no markup, no control characters, no endless text (D9)."""

import html
import re

#: Longest texts kept, in characters.
NAME_LIMIT = 120
DESCRIPTION_LIMIT = 2000

_TAG = re.compile(r"<!--.*?-->|</?[A-Za-z][^<>]*>", re.DOTALL)
#: C0 and C1 controls but tab and line feed, lone surrogates, and marks that reorder the text around them.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufeff]")
_BLANKS = re.compile(r"[^\S\n]+")
_EMPTY_LINES = re.compile(r"\n\s*\n+")
#: What PostgreSQL's text and jsonb refuse.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def name(text: str) -> str:
    """One line of at most `NAME_LIMIT` characters, without a full stop at its end; may be empty."""
    line = " ".join(_plain(text).split())
    return _cut(line.removesuffix(".") if line.count(".") == 1 else line, NAME_LIMIT)


def description(text: str) -> str:
    """At most `DESCRIPTION_LIMIT` characters, paragraphs kept; may be empty."""
    lines = (_BLANKS.sub(" ", line).strip() for line in _plain(text).split("\n"))
    return _cut(_EMPTY_LINES.sub("\n\n", "\n".join(lines)).strip(), DESCRIPTION_LIMIT)


def storable(text: str) -> str:
    """The text without NUL and lone surrogates, otherwise as it is: for log rows, not for readers."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def _plain(text: str) -> str:
    """Without markup, however often it was escaped, and without characters that are not for reading."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for _ in range(3):
        bare = html.unescape(_TAG.sub("", text))
        if bare == text:
            break
        text = bare
    return _UNFIT.sub("", _TAG.sub("", text))


def _cut(text: str, limit: int) -> str:
    """At most `limit` characters, ending at a word where one ends near."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    space = head.rfind(" ")
    return (head[:space] if space > limit * 3 // 4 else head).rstrip(" ,;:") + "…"
