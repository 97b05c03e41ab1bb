"""`dramatiq actors` and `periodiq actors`, the standard commands, work on this repository as it is."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pika
import pytest

from broker.tick import LANE, TASK
from tests.broker.processes import ROOT, WorkerUnderTest
from tests.broker.until import until
from tests.services.postgres import Clone

Command = Callable[..., WorkerUnderTest]


@pytest.fixture
def command(rabbit: str, clone: Clone, tmp_path: Path) -> Iterator[Command]:
    started: list[WorkerUnderTest] = []

    def run(program: str, *arguments: str) -> WorkerUnderTest:
        env = {"LONGHAUL_BROKER_URL": rabbit, "LONGHAUL_DATABASE_URL": clone.url}
        started.append(WorkerUnderTest(tmp_path / f"{program}.log", env, *arguments, program=program))
        return started[-1]

    yield run
    for one in started:
        one.kill()


def test_dramatiq_actors_works_for_the_lane_it_is_given(command: Command) -> None:
    worker = command("dramatiq", "actors", "--processes", "1", "--threads", "2", "-Q", "enrichment").ready()

    worker.terminate()

    assert worker.wait() == 0
    assert "Traceback" not in worker.said


def test_periodiq_actors_sends_the_tick_and_an_upkeep_worker_sweeps(command: Command, rabbit: str) -> None:
    command("periodiq", "--path", str(ROOT), "--", "actors")
    connection = pika.BlockingConnection(pika.URLParameters(rabbit))
    until(lambda: _ready(connection, LANE) == 1, 30)
    connection.close()

    worker = command("dramatiq", "actors", "--processes", "1", "--threads", "1", "-Q", LANE).ready()

    until(lambda: f"{TASK}()" in worker.said or "scheduled at" in worker.said, 30)
    worker.terminate()
    assert worker.wait() == 0
    assert "Traceback" not in worker.said


def test_importing_the_package_of_the_pipelines_is_light() -> None:
    """Every command does it, `--help` too."""
    heavy = ("dramatiq", "pika", "periodiq", "sqlalchemy", "psycopg", "pydantic", "actors.enrichment")
    code = f"import sys, actors; print([name for name in {heavy!r} if name in sys.modules])"

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout

    assert said.strip() == "[]"


def _ready(connection: pika.BlockingConnection, queue: str) -> int:
    try:
        channel = connection.channel()
        return int(channel.queue_declare(queue, passive=True).method.message_count)
    except pika.exceptions.ChannelClosedByBroker:
        return 0
