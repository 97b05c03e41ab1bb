"""What we ask of a broker beside Dramatiq's protocol: how many wake-ups wait, here are more, carry these signals."""

from collections.abc import Mapping
from typing import Protocol

from broker.signals import Carrier
from schema.engine import Database


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
    """A broker that wake-ups and signals can be published to."""

    def wakes(self) -> Wakes:
        """A publisher for one thread."""
        ...

    def carrier(self, database: Database) -> Carrier:
        """What takes this process's signals to all others; over the database where no broker is between them."""
        ...
