"""How long to wait for a database or a broker that is away: soon at first, never longer than half a minute."""

import random
from collections.abc import Iterator

_FIRST_SECONDS = 1.0
_LONGEST_SECONDS = 30.0


def waits() -> Iterator[float]:
    """Seconds to wait before each further try, without end; spread, so that a fleet does not come back as one."""
    wait = _FIRST_SECONDS
    while True:
        yield wait * random.uniform(0.8, 1.2)  # noqa: S311  no secret
        wait = min(2 * wait, _LONGEST_SECONDS)
