"""A RabbitMQ that dies, or has no memory left: a node of the test's own each time."""

from collections.abc import Callable
from pathlib import Path

import pytest
from dramatiq import Message
from pydantic import SecretStr

from base.clock import monotonic
from base.settings import Broker as BrokerSettings
from broker.address import Disconnected
from broker.delivery import wake_up
from broker.rabbit import RabbitBroker
from tests.broker.jobs_under_test import Jobs
from tests.broker.processes import WorkerUnderTest
from tests.broker.steps_under_test import LANE, InFolder, Nothing
from tests.broker.until import until
from tests.services.rabbit import Node
from tests.services.rabbit_kinds import ON_EVERY_KIND

Start = Callable[..., WorkerUnderTest]
StartNode = Callable[..., Node]


@ON_EVERY_KIND
def test_a_job_outlives_its_broker(rabbit_node: StartNode, start: Start, jobs: Jobs, tmp_path: Path) -> None:
    node = rabbit_node()
    worker = start(LONGHAUL_BROKER_URL=node.url).ready()
    request = InFolder(folder=tmp_path)
    job = jobs.insert("brokertest.hold", request)
    until(lambda: request.marked("started"))

    node.kill()
    until(lambda: "Restarting consumer" in worker.said, 30)
    request.mark("go")
    until(lambda: jobs.state(job) == "done")
    later = [jobs.insert("brokertest.noop", Nothing()) for _ in range(5)]
    node.start()

    until(lambda: all(jobs.state(one) == "done" for one in later), 90)
    assert jobs.row(job).attempts == 1
    assert "guest:guest" not in worker.said
    assert "Traceback" not in worker.said


def test_publishing_to_a_broker_without_memory_ends_within_its_time(rabbit_node: StartNode) -> None:
    node = rabbit_node()
    broker = RabbitBroker(
        SecretStr(node.url),
        BrokerSettings.model_validate({"blocked_connection_timeout": 1}),
        middleware=[],
        purpose="test",
    )
    broker.enqueue(_tick())
    node.server.control("set_vm_memory_high_watermark", "0")

    began = monotonic()
    with pytest.raises(Disconnected, match="takes no messages now: it is short of memory or disk"):
        broker.enqueue(_tick())
    assert monotonic() - began < 10


def _tick() -> "Message[object]":
    return wake_up(LANE, "brokertest.tick")
