"""A job's life, from its claim to its end, by a worker in this process."""

from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from base.clock import now
from broker.embedded import Embedded
from tests.broker.jobs_under_test import Jobs
from tests.broker.steps_under_test import InFolder, Nothing
from tests.broker.until import until


def _ended(jobs: Jobs, job: UUID) -> str:
    until(lambda: jobs.state(job) in ("done", "failed", "canceled"))
    return jobs.state(job)


def test_a_job_is_done_and_its_result_kept(worker: Embedded, jobs: Jobs, tmp_path: Path) -> None:
    job = jobs.insert("brokertest.note", InFolder(folder=tmp_path))

    assert _ended(jobs, job) == "done"
    assert (tmp_path / "job.ran").exists()
    assert jobs.row(job).attempts == 1
    assert jobs.result(job) == {"amount": 1}


@pytest.mark.parametrize(
    ("task", "reason", "error"),
    [
        ("brokertest.broken", "impossible", "It can't be done."),
        ("brokertest.bug", "unexpected_error", "division by zero"),
        ("brokertest.slow", "attempts_exhausted", "The step ran longer than its limit of 0.2 s."),
        ("brokertest.refused", "result_refused", "check constraint"),
    ],
)
def test_a_failure_ends_that_job_only(
    worker: Embedded, jobs: Jobs, tmp_path: Path, *, task: str, reason: str, error: str
) -> None:
    job = jobs.insert(task, InFolder(folder=tmp_path))
    after = jobs.insert("brokertest.noop", Nothing())

    assert _ended(jobs, job) == "failed"
    assert _ended(jobs, after) == "done"
    row = jobs.row(job)
    assert row.reason == reason
    assert error in (row.error or "")


def test_a_transient_failure_is_tried_again_by_the_ladder(worker: Embedded, jobs: Jobs, tmp_path: Path) -> None:
    job = jobs.insert("brokertest.busy", InFolder(folder=tmp_path))

    until(lambda: jobs.count("state = 'pending' AND NOT ready AND attempts = 1") == 1)
    assert jobs.row(job).error == "The partner is busy."


def test_a_payload_of_another_version_costs_that_job_only(worker: Embedded, jobs: Jobs, tmp_path: Path) -> None:
    first = InFolder(folder=tmp_path, name="first")
    job = jobs.insert("brokertest.note", first, due_at=now() + timedelta(hours=1))
    jobs.execute('UPDATE job_bodies SET payload = \'{"secret": "hunter2"}\' WHERE job_id = %s', job)
    jobs.execute("UPDATE jobs SET due_at = now() WHERE id = %s", job)

    assert _ended(jobs, job) == "failed"
    row = jobs.row(job)
    assert row.reason == "payload_unreadable"
    assert row.error == "The job's payload can't be read by this version: folder: Field required."


def test_follow_ups_run_and_the_reason_is_kept(worker: Embedded, jobs: Jobs, tmp_path: Path) -> None:
    job = jobs.insert("brokertest.leads", InFolder(folder=tmp_path))

    assert _ended(jobs, job) == "done"
    assert jobs.row(job).reason == "partial"
    until((tmp_path / "job.ran").exists)


def test_asked_to_hand_over_a_run_stops_at_its_pass_boundary(worker: Embedded, jobs: Jobs, tmp_path: Path) -> None:
    request = InFolder(folder=tmp_path)
    job = jobs.insert("brokertest.passes", request)
    until(lambda: request.marked("pass"))

    worker.ask_handover()

    assert worker.idle(10)
    row = jobs.row(job)
    assert (row.state, row.recoveries, row.worker_id) == ("pending", 0, None)


def test_a_refused_checkpoint_does_not_end_the_run(worker: Embedded, jobs: Jobs, tmp_path: Path) -> None:
    job = jobs.insert("brokertest.careless", InFolder(folder=tmp_path))

    assert _ended(jobs, job) == "done"
    assert jobs.result(job) == {"amount": 0}


def test_a_checkpoint_waits_for_the_database(worker: Embedded, jobs: Jobs, tmp_path: Path) -> None:
    request = InFolder(folder=tmp_path)
    job = jobs.insert("brokertest.passes", request)
    until(lambda: request.marked("pass"))

    with jobs.outage():
        until(lambda: not worker.idle(0))

    request.mark("go")
    assert _ended(jobs, job) == "done"
    row = jobs.row(job)
    assert (row.attempts, row.recoveries, row.fence) == (1, 0, 1)
