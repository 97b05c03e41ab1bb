"""The process's clocks. Inside claims and sweeps time comes from the database instead."""

import time
from datetime import UTC, datetime


def now() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)  # noqa: TID251  the one place


def monotonic() -> float:
    """Seconds on a clock that never jumps; for measuring, never for storing."""
    return time.monotonic()
