"""A job's life, from its claim to its end, by a worker in this process."""

from pathlib import Path

import pytest

from broker.embedded import Embedded
from tests.broker.jobs_under_test import Jobs
from tests.broker.steps_under_test import InFolder, Nothing
from tests.broker.until import until


def _ended(jobs: Jobs, job_id: object) -> str:
    return until(lambda: (state := jobs.state(job_id)) in ("done", "failed", "canceled") and state)  # type: ignore[arg-type,return-value]


def test_a_job_is_done_and_its_result_kept(worker: Embedded, jobs: Jobs, tmp_path: Path) -> None:
    job = jobs.insert("test.note", InFolder(folder=tmp_path))

    assert _ended(jobs, job) == "done"
    assert (tmp_path / "job.ran").exists()
    assert jobs.row(job).attempts == 1


@pytest.mark.parametrize(
    ("task", "state", "reason", "error"),
    [
        ("test.broken", "failed", "impossible", "It can't be done."),
        ("test.bug", "failed", "unexpected_error", "division by zero"),
        ("test.slow", "failed", "attempts_exhausted", "The step ran longer than its limit of 0.2 s."),
        ("test.refused", "failed", "result_refused", None),
    ],
)
def test_a_failure_ends_that_job_only(
    worker: Embedded, jobs: Jobs, tmp_path: Path, task: str, state: str, reason: str, error: str | None
) -> None:
    job = jobs.insert(task, InFolder(folder=tmp_path))
    after = jobs.insert("test.noop", Nothing())

    assert _ended(jobs, job) == state
    assert _ended(jobs, after) == "done"
    row = jobs.row(job)
    assert row.reason == reason
    assert error is None or row.error == error


def test_a_transient_failure_is_tried_again_by_the_ladder(worker: Embedded, jobs: Jobs, tmp_path: Path) -> None:
    job = jobs.insert("test.busy", InFolder(folder=tmp_path))

    until(lambda: jobs.count("state = 'pending' AND NOT ready AND attempts = 1") == 1)
    assert jobs.row(job).error is None or "busy" in (jobs.row(job).error or "")


def test_a_payload_of_another_version_costs_that_job_only(worker: Embedded, jobs: Jobs, tmp_path: Path) -> None:
    job = jobs.insert("test.note", InFolder(folder=tmp_path), due_at=None)
    until(lambda: jobs.state(job) == "done")

    broken = jobs.insert("test.hold", InFolder(folder=tmp_path))
    until(lambda: (tmp_path / "job.started").exists())
    (tmp_path / "job.go").touch()
    assert _ended(jobs, broken) == "done"


def test_follow_ups_run_and_the_reason_is_kept(worker: Embedded, jobs: Jobs, tmp_path: Path) -> None:
    job = jobs.insert("test.leads", InFolder(folder=tmp_path))

    assert _ended(jobs, job) == "done"
    assert jobs.row(job).reason == "partial"
    until(lambda: (tmp_path / "job.ran").exists())
