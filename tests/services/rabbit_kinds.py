"""The kinds of RabbitMQ that tests run on, for `pytestmark = ON_EVERY_KIND` or a parametrised `rabbit_kind`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import pytest


@dataclass(frozen=True)
class Kind:
    """A version of RabbitMQ and a type of queues. `four`: it is 4.0, not what this machine has."""

    four: bool
    queue_type: Literal["classic", "quorum"]

    @property
    def service(self) -> str:
        """What a test that is left out is said to need."""
        return "RabbitMQ 4.0" if self.four else "RabbitMQ"

    def __str__(self) -> str:
        return f"4.0-{self.queue_type}" if self.four else self.queue_type


OWN_CLASSIC = Kind(four=False, queue_type="classic")
OWN_QUORUM = Kind(four=False, queue_type="quorum")
FOUR_QUORUM = Kind(four=True, queue_type="quorum")


def on(kinds: Iterable[Kind]) -> pytest.MarkDecorator:
    """Run a test, or a module of tests, on each of these."""
    return pytest.mark.parametrize("rabbit_kind", list(kinds), ids=str, indirect=True)


ON_EVERY_KIND = on([OWN_CLASSIC, OWN_QUORUM, FOUR_QUORUM])
