"""Puts texts into a JSON or YAML text in place: every byte that says something else stays as it is.

A definition is a file people keep in version control and comment; written anew it would differ on every line.
Whoever calls this reads the result back and compares: what can't be spliced soundly is noticed there.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actors.enrichment.definition.edits import Edit
from actors.enrichment.definition.places import Entry, Place

#: New keys stand behind these, where they come first, and before the first other; at least before the last of them.
_LEADING = frozenset(
    {"name", "in", "title", "version", "summary", "tags", "operationId", "x-title", "openapi", "swagger"}
)
#: What a double-quoted YAML scalar must not hold as it is, although JSON may.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")


class CannotSplice(Exception):
    """An edit has no place in the text."""


@dataclass(frozen=True, slots=True)
class _Replacement:
    start: int
    end: int
    text: str


def splice(text: str, places: Mapping[str, Place], edits: Sequence[Edit]) -> str:
    """The text with the edits in it.

    Raises:
        CannotSplice: an edit's object does not stand in the text by itself.
    """
    writer = _Writer(text)
    replacements: list[_Replacement] = []
    for edit in edits:
        place = places.get(edit.pointer)
        if place is None:
            raise CannotSplice(edit.pointer)
        replacements += [writer.wrapped(place, edit.values)] if edit.wrap else writer.entered(place, edit.values)
    pieces, position = [], 0
    for one in sorted(replacements, key=lambda one: (one.start, one.end)):
        if one.start < position:
            raise CannotSplice(text[one.start : one.start + 20])
        pieces += [text[position : one.start], one.text]
        position = one.end
    return "".join([*pieces, text[position:]])


class _Writer:
    """Knows how the text is written: its line ends, its indentation, whether it escapes what is not ASCII."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line_end = "\r\n" if "\r\n" in text else "\n"
        self._ascii = text.isascii() and "\\u" in text

    def entered(self, place: Place, values: Mapping[str, Any]) -> Iterator[_Replacement]:
        """The values set in an object: in place where the key is there, before the other keys where it is not."""
        missing = {}
        for key, value in values.items():
            entry = place.entry(key)
            if entry is None:
                missing[key] = value
            else:
                yield self._replaced(place, entry, value)
        if missing and not place.entries:
            yield _Replacement(place.start, place.end, self._value(missing, place.style))
        elif missing:
            before = next((entry for entry in place.entries if entry.key not in _LEADING), place.entries[-1])
            gap = self._gap(place, before)
            comma = "" if place.style == "block" else ","
            new = "".join(f"{self._entry(place, key, value)}{comma}{gap}" for key, value in missing.items())
            yield _Replacement(before.start, before.start, new)

    def wrapped(self, place: Place, values: Mapping[str, Any]) -> _Replacement:
        """The object moved into the `allOf` of a new one that has the values."""
        if place.style == "block":
            return self._wrapped_block(place, values)
        first = place.entries[0]
        gap = self._gap(place, first)
        before = "".join(f"{self._entry(place, key, value)},{gap}" for key, value in values.items())
        all_of = self._entry(place, "allOf", None)
        original = self._text[place.start : place.end]
        if "\n" not in gap:
            return _Replacement(place.start, place.end, f"{{{before}{all_of}[{original}]}}")
        inner, outer = gap, self._line_end + self._indentation(place.end - 1)
        unit = inner.removeprefix(outer)
        original = original.replace("\n", f"\n{unit}{unit}")
        return _Replacement(
            place.start, place.end, f"{{{inner}{before}{all_of}[{inner}{unit}{original}{inner}]{outer}}}"
        )

    def _wrapped_block(self, place: Place, values: Mapping[str, Any]) -> _Replacement:
        start = place.entries[0].start
        original = self._text[start : place.entries[-1].value_end].rstrip()
        gap = self._gap(place, place.entries[0])
        before = "".join(f"{self._entry(place, key, value)}{gap}" for key, value in values.items())
        inner = original.replace("\n", "\n    ")
        return _Replacement(start, start + len(original), f"{before}allOf:{gap}  - {inner}")

    def _replaced(self, place: Place, entry: Entry, value: Any) -> _Replacement:
        old = self._text[entry.value_start : entry.value_end]
        space = " " if place.style != "json" and self._text[entry.value_start - 1] == ":" else ""
        end = entry.value_start + len(old.rstrip())
        return _Replacement(entry.value_start, end, space + self._value(value, place.style))

    def _gap(self, place: Place, entry: Entry) -> str:
        """What stands between two entries: a new line with the indentation of `entry`, or a space, or nothing."""
        if place.style == "block":
            column = entry.start - (self._text.rfind("\n", 0, entry.start) + 1)
            return self._line_end + " " * column
        written = self._text[place.start + 1 : entry.start]
        white = written[len(written.rstrip()) :]
        if "\n" in white:
            return self._line_end + white.rpartition("\n")[2]
        return " " if self._spaced(entry) else ""

    def _spaced(self, entry: Entry) -> bool:
        return self._text[entry.value_start - 1].isspace()

    def _entry(self, place: Place, key: str, value: Any) -> str:
        """A key with its value; without one, the key and its colon."""
        first = place.entries[0]
        quoted = place.style == "json" or self._text[first.start] == '"'
        name = json.dumps(key) if quoted else key
        colon = ": " if place.style != "json" or self._spaced(first) else ":"
        return f"{name}{colon}{'' if value is None else self._value(value, place.style)}"

    def _value(self, value: Any, style: str) -> str:
        written = json.dumps(value, ensure_ascii=self._ascii)
        if style != "json":
            written = _UNPRINTABLE.sub(lambda match: f"\\u{ord(match.group()):04x}", written)
        return written

    def _indentation(self, position: int) -> str:
        line = self._text[self._text.rfind("\n", 0, position) + 1 : position]
        return line[: len(line) - len(line.lstrip())]
