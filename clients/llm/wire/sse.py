"""Server-sent events out of bytes, as they arrive: only the data, which is all that model servers use.

Any of the three line ends, comments, several data lines an event, a chunk that ends inside a character or a line
end, and a last event without its blank line are all read.
"""

import re

_LINE_END = re.compile(rb"\r\n|\n|\r")


class EventReader:
    """Fed with chunks, gives the data of each event that became complete."""

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._data: list[str] = []
        self._half_ended = False  # the last chunk ended in \r: a \n at the start of the next one belongs to it

    def feed(self, chunk: bytes) -> list[str]:
        """Take some bytes."""
        fresh = chunk.removeprefix(b"\n") if self._half_ended else chunk
        self._half_ended = fresh.endswith(b"\r")
        first, *others = _LINE_END.split(fresh)
        self._line.append(first)
        found: list[str] = []
        for other in others:
            found += self._end_line()
            self._line = [other]
        return found

    def end(self) -> list[str]:
        """There is no more: what is pending counts as complete."""
        return self.feed(b"\n\n")

    def _end_line(self) -> list[str]:
        line = b"".join(self._line).decode("utf-8", "replace").removeprefix("\ufeff")
        field, _, value = line.partition(":")
        if field == "data":
            self._data.append(value.removeprefix(" "))
        elif not line and self._data:
            event = "\n".join(self._data)
            self._data = []
            return [event]
        return []
