"""Quorum queues count deliveries, and RabbitMQ 4.0 gives a message up after 20. A lost wake-up costs seconds."""

from collections.abc import Callable
from pathlib import Path

import pika

from tests.broker.jobs_under_test import Jobs
from tests.broker.lane_under_test import Lane
from tests.broker.processes import WorkerUnderTest
from tests.broker.steps_under_test import LANE, InFolder
from tests.broker.until import until
from tests.services.rabbit_kinds import FOUR_QUORUM, on

pytestmark = on([FOUR_QUORUM])

DELIVERY_LIMIT = 20


def die_with_what_was_delivered(lane: Lane) -> None:
    """What a worker that crashes does to the message it has."""
    connection = pika.BlockingConnection(pika.URLParameters(lane.url))
    channel = connection.channel()
    until(lambda: channel.basic_get(LANE)[0] is not None)
    connection.close()


def test_a_wake_up_given_up_after_twenty_crashes_is_replaced(
    start: Callable[..., WorkerUnderTest], jobs: Jobs, lane: Lane, tmp_path: Path
) -> None:
    request = InFolder(folder=tmp_path)
    job = jobs.insert("brokertest.note", request)
    lane.send("brokertest.note")
    for _ in range(DELIVERY_LIMIT + 1):
        die_with_what_was_delivered(lane)
    until(lambda: lane.ready("test.XQ") == 1)
    assert lane.ready() == 0

    start().ready()

    until(lambda: jobs.state(job) == "done")
    assert jobs.row(job).attempts == 1
