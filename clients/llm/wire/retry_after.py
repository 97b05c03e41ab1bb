"""How long a provider asks us to stay away: `retry-after-ms`, or `retry-after` in seconds or as an HTTP date."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

#: Anything longer is the same answer to us: not now.
_LONGEST = timedelta(days=1)


def retry_after(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """The wish in a response's headers (names in lower case), between nothing and a day; None without one."""
    for header, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[header]) * unit
        except (KeyError, ValueError):
            continue
        if seconds >= 0:  # not so for nan
            return timedelta(seconds=min(seconds, _LONGEST.total_seconds()))
    try:
        until = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return min(max(until - now, timedelta(0)), _LONGEST)
