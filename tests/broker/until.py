"""Waiting for what another thread or process does, with an end."""

import threading
from collections.abc import Callable
from typing import TypeVar

from base.clock import monotonic

T = TypeVar("T")

_LOOK_SECONDS = 0.02


def until(condition: Callable[[], T], seconds: float = 15.0) -> T:
    """Wait until the condition holds, and answer what it answered.

    Raises:
        TimeoutError: it never did.
    """
    deadline = monotonic() + seconds
    never = threading.Event()
    while not (found := condition()):
        if monotonic() > deadline:
            raise TimeoutError(f"never true within {seconds:g} s: {condition.__name__}, last answer {found!r}")
        never.wait(_LOOK_SECONDS)
    return found
