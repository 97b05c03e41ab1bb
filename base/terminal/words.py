"""How numbers, times and foreign text read on a terminal."""

import re
from datetime import datetime, timedelta

#: Text from documents and models may hold escape sequences; a terminal would obey them.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """One line that no terminal takes as a command: control and direction characters are left out."""
    return _CONTROL.sub("", " ".join(text.split()))


def span(value: timedelta) -> str:
    """A duration as people read it: `41 s`, `4 m 10 s`, `2 h 3 m`, `5 d 2 h`."""
    seconds = max(0, int(value.total_seconds()))
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes == 0:
        return f"{seconds} s"
    if hours == 0:
        return f"{minutes} m {seconds % 60} s" if seconds % 60 else f"{minutes} m"
    if days == 0:
        return f"{hours} h {minutes % 60} m" if minutes % 60 else f"{hours} h"
    return f"{days} d {hours % 24} h" if hours % 24 else f"{days} d"


def count(number: int) -> str:
    """A count with its thousands apart: `12,480`."""
    return f"{number:,}"


def amount(number: int, noun: str, plural: str | None = None) -> str:
    """A count with its noun: `1 pass`, `2 passes`."""
    return f"{count(number)} {noun if number == 1 else plural or noun + 's'}"


def local(moment: datetime | None) -> str:
    """A moment in the reader's own zone, to the second; a dash for none."""
    return "-" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def ago(moment: datetime | None, now: datetime) -> str:
    """How long since a moment: `12 s ago`; a dash for none."""
    return "-" if moment is None else f"{span(now - moment)} ago"
