from datetime import UTC, datetime, timedelta

import pytest

from clients.llm.wire.retry_after import retry_after

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "7"}, timedelta(seconds=7)),
        ({"retry-after": "0.5"}, timedelta(seconds=0.5)),
        ({"retry-after-ms": "1500", "retry-after": "9"}, timedelta(seconds=1.5)),
        ({"retry-after-ms": "soon", "retry-after": "9"}, timedelta(seconds=9)),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, timedelta(seconds=30)),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, timedelta(0)),
        ({"retry-after": "99999999999999999999"}, timedelta(days=1)),
        ({"retry-after": "Sat, 30 Nov 2080 12:00:00 GMT"}, timedelta(days=1)),
        ({"retry-after": "inf"}, timedelta(days=1)),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "later"}, None),
        ({}, None),
    ],
)
def test_every_way_to_ask_for_a_pause(headers: dict[str, str], expected: timedelta | None) -> None:
    assert retry_after(headers, NOW) == expected
