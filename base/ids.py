"""UUID version 7: ids that sort by the time they were made, so fresh rows share index pages."""

import secrets
import time
from uuid import UUID


def uuid7() -> UUID:
    """A new id: 48 bits of Unix milliseconds, then random bits (RFC 9562, section 5.7)."""
    milliseconds = time.time_ns() // 1_000_000
    random = secrets.randbits(74)
    value = (milliseconds & (1 << 48) - 1) << 80
    value |= 0x7 << 76
    value |= (random >> 62) << 64
    value |= 0b10 << 62
    value |= random & (1 << 62) - 1
    return UUID(int=value)
