"""What relay and wake ask of a broker: how many wake-ups wait in a lane, and here are more."""

from collections.abc import Mapping
from typing import Protocol


class Wakes(Protocol):
    """A way to publish wake-ups. Used by one thread."""

    def ready(self, lane: str) -> int:
        """Wake-ups in the lane's queue that no worker has taken."""
        ...

    def send(self, lane: str, tasks: Mapping[str, int]) -> None:
        """Put this many wake-ups of each task into the lane's queue, all or none.

        Raises:
            Transient: the broker did not take them.
        """
        ...

    def close(self) -> None:
        """Let go of the connection. Never raises; the next call opens another."""
        ...


class Publishing(Protocol):
    """A broker that wake-ups can be published to."""

    def wakes(self) -> Wakes:
        """A publisher for one thread."""
        ...
