"""What a worker process refuses to start with: one sentence, exit code 1, no traceback."""

from collections.abc import Callable

import psycopg
import pytest

from tests.broker.lane_under_test import Lane
from tests.broker.processes import READY, WorkerUnderTest
from tests.services.postgres import Clone, plain

Start = Callable[..., WorkerUnderTest]

ONE = ("--processes", "1", "--threads", "2", "-Q", "test")
TWELVE = ("--processes", "1", "--threads", "12", "-Q", "test")


@pytest.mark.parametrize(
    ("line", "env", "sentence"),
    [
        (("--processes", "1"), {}, "A worker process serves one lane: start `dramatiq actors"),
        (("--processes", "1", "-Q", "tset"), {}, "There is no lane tset. The lanes are test, upkeep."),
        (("--processes", "2", "-Q", "test"), {}, "Longhaul runs one process with several threads"),
        (
            ONE,
            {"LONGHAUL_DATABASE__POOL_SIZE": "9", "LONGHAUL_WORKER__THREADS": "1"},
            "2 threads need 10 connections to the database",
        ),
        (ONE, {"LONGHAUL_BROKER_URL": ""}, "LONGHAUL_BROKER_URL is not set"),
        (ONE, {"LONGHAUL_BROKER_URL": "amqp://guest:s3cret@127.0.0.1:1/x"}, "does not answer: Connection refused."),
        (ONE, {"LONGHAUL_BROKER_URL": "amqp://guest:s3/cret@127.0.0.1/x"}, "LONGHAUL_BROKER_URL can't be read"),
        (ONE, {"LONGHAUL_DATABASE_URL": "postgresql://u:s3cret@127.0.0.1:1/x"}, "The database can't be used now"),
        (ONE, {"LONGHAUL_WORKER__THREDS": "4"}, "Did you mean LONGHAUL_WORKER__THREADS?"),
    ],
)
def test_a_start_that_can_not_work_is_refused(
    start: Start, line: tuple[str, ...], env: dict[str, str], sentence: str
) -> None:
    worker = start(*line, **env)

    assert worker.wait() == 1
    assert sentence in worker.said
    assert "Traceback" not in worker.said
    assert "cret@" not in worker.said
    # Of two processes the first may have been ready before the second refused
    assert READY not in worker.said or "2" in line[:2]


def test_queues_made_otherwise_are_named_once(start: Start, lane: Lane) -> None:
    lane.replace_by_another_kind()

    worker = start()

    assert worker.wait() == 1
    assert worker.said.count("was made with other arguments") == 1
    assert "Traceback" not in worker.said


def test_a_schema_that_is_behind_is_refused(start: Start, clone: Clone) -> None:
    with psycopg.connect(plain(clone.superuser_url)) as connection:
        connection.execute("DELETE FROM alembic_version")

    worker = start()

    assert worker.wait() == 1
    assert "Run `./longhaul migrate`." in worker.said
    assert "Traceback" not in worker.said
