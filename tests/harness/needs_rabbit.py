"""Not collected by itself: test_harness.py runs it with and without a RabbitMQ."""

from collections.abc import Callable

import pika

from tests.services.rabbit import Node
from tests.services.rabbit_kinds import FOUR_QUORUM, on


def test_a_vhost(rabbit: str) -> None:
    pika.BlockingConnection(pika.URLParameters(rabbit)).close()


def test_a_node(rabbit_node: Callable[..., Node]) -> None:
    assert rabbit_node().url


@on([FOUR_QUORUM])
def test_a_node_of_4_0(rabbit_node: Callable[..., Node]) -> None:
    assert rabbit_node().server.control("version").startswith("4.0")
