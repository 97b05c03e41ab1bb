"""`dramatiq` over RabbitMQ, as it runs on servers: processes of their own, ended and killed as servers are."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from base.clock import now
from tests.broker.jobs_under_test import Jobs
from tests.broker.lane_under_test import Lane
from tests.broker.processes import WorkerUnderTest
from tests.broker.steps_under_test import LANE, InFolder, Nothing
from tests.broker.until import until
from tests.services.rabbit import Server
from tests.services.rabbit_kinds import ON_EVERY_KIND

pytestmark = ON_EVERY_KIND

Start = Callable[..., WorkerUnderTest]


def test_a_job_inserted_by_anybody_runs_within_seconds(start: Start, jobs: Jobs, tmp_path: Path) -> None:
    worker = start().ready()

    job = jobs.insert("brokertest.note", InFolder(folder=tmp_path))

    until(lambda: jobs.state(job) == "done")
    until(lambda: "job ends" in worker.said)
    starts, ends = (line for line in worker.said.splitlines() if str(job) in line)
    assert "job starts" in starts
    assert '"task": "brokertest.note"' in starts
    assert '"outcome": "done"' in ends


def test_a_worker_that_ends_takes_nothing_new_and_another_does(start: Start, jobs: Jobs, tmp_path: Path) -> None:
    # Given a worker that ends, and can't yet for the job it holds
    ending = start(LONGHAUL_WORKER__DRAIN_GRACE="60").ready()
    held = InFolder(folder=tmp_path, name="held")
    jobs.insert("brokertest.hold", held)
    until(lambda: held.marked("started"))
    other = start().ready()
    ending.terminate()
    until(lambda: "draining" in ending.said)

    # When more work comes than one worker's threads take at once
    later = [jobs.insert("brokertest.note", InFolder(folder=tmp_path, name=f"later-{n}")) for n in range(6)]

    # Then the other one does all of it, at once
    until(lambda: all(jobs.state(job) == "done" for job in later), 8)
    ran_by = {(tmp_path / f"later-{n}.ran").read_text().strip() for n in range(6)}
    assert len(ran_by) == 1
    assert ran_by != {(tmp_path / "held.started").read_text().strip()}
    held.mark("go")
    assert ending.wait() == 0
    assert other.said


def test_at_sigterm_a_run_hands_over_at_its_pass_boundary(start: Start, jobs: Jobs, tmp_path: Path) -> None:
    first = start().ready()
    request = InFolder(folder=tmp_path)
    job = jobs.insert("brokertest.passes", request)
    until(lambda: request.marked("pass"))

    first.terminate()
    assert first.wait() == 0
    start().ready()

    until(lambda: len((tmp_path / "job.started").read_text().split()) == 2)
    request.mark("go")
    until(lambda: jobs.state(job) == "done")
    assert jobs.row(job).recoveries == 0


def test_a_pass_that_outlasts_the_grace_is_cut_and_its_job_given_back(start: Start, jobs: Jobs, tmp_path: Path) -> None:
    worker = start(LONGHAUL_WORKER__DRAIN_GRACE="0.5").ready()
    request = InFolder(folder=tmp_path)
    job = jobs.insert("brokertest.hold", request)
    until(lambda: request.marked("started"))

    worker.terminate()

    assert worker.wait() == 0
    assert request.marked("cancelled")
    assert jobs.state(job) == "pending"
    assert jobs.row(job).worker_id is None


def test_the_job_of_a_killed_worker_is_taken_up_by_another(start: Start, jobs: Jobs, tmp_path: Path) -> None:
    victim = start().ready()
    request = InFolder(folder=tmp_path)
    job = jobs.insert("brokertest.passes", request)
    until(lambda: request.marked("pass"))
    start().ready()

    victim.kill()

    # By the message that comes back, long before any threshold
    until(lambda: len((tmp_path / "job.started").read_text().split()) == 2)
    request.mark("go")
    until(lambda: jobs.state(job) == "done")
    assert jobs.row(job).recoveries == 1


def test_a_wake_up_is_not_acknowledged_while_the_database_is_away(
    start: Start, jobs: Jobs, lane: Lane, rabbit_server: Server, tmp_path: Path
) -> None:
    worker = start().ready()
    request = InFolder(folder=tmp_path)
    job = jobs.insert("brokertest.note", request, due_at=now() + timedelta(seconds=4))

    with jobs.outage():
        lane.send("brokertest.note")
        until(lambda: "a wake-up waits for the database" in worker.said)
        vhost = urlsplit(lane.url).path[1:]
        # A quorum queue tells its counts some seconds late
        until(lambda: rabbit_server.queues(vhost)[LANE] == (0, 1))
        assert not request.marked("ran")

    until(lambda: jobs.state(job) == "done")
    assert worker.said.count("job starts") == 1


def test_a_finish_waits_for_the_database(start: Start, jobs: Jobs, tmp_path: Path) -> None:
    worker = start().ready()
    request = InFolder(folder=tmp_path)
    job = jobs.insert("brokertest.hold", request)
    until(lambda: request.marked("started"))

    with jobs.outage():
        request.mark("go")
        until(lambda: "the end of a job waits for the database" in worker.said)

    until(lambda: jobs.state(job) == "done")
    assert jobs.row(job).attempts == 1


def test_the_relay_replaces_what_a_purge_took(start: Start, jobs: Jobs, lane: Lane, tmp_path: Path) -> None:
    start(threads=1).ready()
    held = InFolder(folder=tmp_path)
    jobs.insert("brokertest.hold", held)
    until(lambda: held.marked("started"))
    waiting = [jobs.insert("brokertest.noop", Nothing()) for _ in range(5)]
    until(lambda: lane.ready() == 5)

    lane.purge()

    until(lambda: lane.ready() == 5)
    held.mark("go")
    until(lambda: all(jobs.state(job) == "done" for job in waiting))


def test_a_full_gate_wakes_nobody(start: Start, jobs: Jobs, lane: Lane, tmp_path: Path) -> None:
    start(threads=2).ready()
    first = InFolder(folder=tmp_path, name="first")
    jobs.insert("brokertest.gated", first)
    until(lambda: first.marked("started"))
    behind = [InFolder(folder=tmp_path, name=f"behind-{n}") for n in range(20)]
    for request in behind:
        jobs.insert("brokertest.gated", request)

    # The relay looks several times meanwhile: what is inserted behind the gate is still done
    done = [
        jobs.insert("brokertest.noop", Nothing(), due_at=now() + timedelta(seconds=seconds)) for seconds in (1, 2, 3)
    ]
    until(lambda: all(jobs.state(job) == "done" for job in done))
    assert lane.ready() == 0
    assert not any(request.marked("started") for request in behind)

    first.mark("go")
    until(lambda: sum(request.marked("started") for request in behind) == 1)


def test_a_refused_queue_ends_a_running_worker(start: Start, lane: Lane) -> None:
    worker = start().ready()

    lane.replace_by_another_kind()

    assert worker.wait() == 0
    assert worker.said.count("was made with other arguments") >= 1
