"""The beat: claims that were taken stop their runs, orphans come back, silence keeps runs from their next pass."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from base.settings import Settings
from broker.embedded import Embedded
from ledger import claiming, ending, workers
from schema.engine import Database, DatabaseAway
from tests.broker.jobs_under_test import Jobs
from tests.broker.steps_under_test import LANE, InFolder
from tests.broker.until import until


@pytest.fixture
def settings() -> Settings:
    return Settings.model_validate(
        {
            "enrichment_run_recovery": {"heartbeat_interval": 0.2, "stale_run_threshold": 30},
            "worker": {"threads": 1},
        }
    )


def test_a_run_whose_claim_was_taken_is_stopped(
    worker: Embedded, jobs: Jobs, account_id: UUID, database: Database, tmp_path: Path
) -> None:
    request = InFolder(folder=tmp_path)
    job = jobs.insert("brokertest.hold", request)
    until(lambda: request.marked("started"))

    assert ending.cancel(database, account_id, job, by="an operator").answer == "accepted"

    until(lambda: request.marked("cancelled"))
    assert worker.idle(5)
    assert jobs.state(job) == "canceled"


def test_an_orphan_claim_is_handed_back_and_costs_no_attempt(
    worker: Embedded, jobs: Jobs, database: Database, tmp_path: Path
) -> None:
    # Given a claim in this worker's name whose answer never arrived
    held = InFolder(folder=tmp_path, name="held")
    first = jobs.insert("brokertest.hold", held)
    until(lambda: held.marked("started"))
    job = jobs.insert("brokertest.note", InFolder(folder=tmp_path))
    worker_id = jobs.row(first).worker_id
    assert worker_id is not None
    claim = claiming.claim(database, worker_id, LANE, ["brokertest.note"])
    assert claim is not None
    assert claim.job_id == job

    # Then its beats find it
    until(lambda: jobs.state(job) == "pending")
    held.mark("go")
    until(lambda: jobs.state(job) == "done")
    assert jobs.row(job).attempts == 1


def test_no_pass_starts_while_beats_do_not_arrive(
    worker: Embedded, jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = InFolder(folder=tmp_path)
    job = jobs.insert("brokertest.passes", request)
    until(lambda: request.marked("pass"))
    passes = _Growth(tmp_path / "job.pass")

    beats = workers.beat
    monkeypatch.setattr(workers, "beat", _away)
    until(lambda: passes.rested(0.5))
    monkeypatch.setattr(workers, "beat", beats)
    until(lambda: not passes.rested(0.5))

    request.mark("go")
    until(lambda: jobs.state(job) == "done")


def _away(*_: Any) -> Any:
    raise DatabaseAway("The database can't be used now.")


class _Growth:
    """Whether a file has stopped growing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def rested(self, seconds: float) -> bool:
        size = self._path.stat().st_size
        try:
            until(lambda: self._path.stat().st_size != size, seconds)
        except TimeoutError:
            return True
        return False
