"""Abandoned runs: recovered from their checkpoints, and given up after so many recoveries (E27, E31 to E34)."""

from uuid import UUID

import psycopg
import pytest

from actors.enrichment.request import Requested
from actors.upkeep.reap import Reaper
from base.settings import load
from broker.held import Held
from broker.life import live
from broker.process import WorkerProcess
from schema.engine import Database
from tests.enrichment.test_resuming import Interrupting
from tests.enrichment.working import Bench
from tests.fakes.llm_enriching import enriching
from tests.fakes.llm_server import LlmServer
from tests.services.postgres import Clone, plain

pytestmark = pytest.mark.usefixtures("long_up")

CHECKPOINTS = "SELECT chunk_id FROM enrichment_passes WHERE answer IS NOT NULL ORDER BY id"


@pytest.fixture
def bench(database: Database, account_id: UUID) -> Bench:
    return Bench.of(database, account_id)


class Silence:
    """Workers that fall silent, and the sweeps that find it out."""

    def __init__(self, clone: Clone) -> None:
        self._url = plain(clone.superuser_url)

    def change(self, statement: str) -> None:
        with psycopg.connect(self._url, autocommit=True) as superuser:
            superuser.execute(statement.encode())

    def falls(self, bench: Bench) -> None:
        """Every worker is silent from here on; a sweep takes back what they held, and it comes due."""
        self.change("UPDATE workers SET beat_at = beat_at - interval '1 hour'")
        self.change("UPDATE sweeps SET began_at = began_at - interval '1 hour'")
        Reaper(load().enrichment_run_recovery)(bench.database)
        self.change("UPDATE jobs SET ready = true WHERE state = 'pending'")


@pytest.fixture
def silence(clone: Clone) -> Silence:
    return Silence(clone)


@pytest.fixture
def three_kept(bench: Bench, model: LlmServer) -> Requested:
    """A run of which three of five items are done, handed over by an earlier claim."""
    model.default = interrupting = Interrupting(model)
    requested = bench.ask()
    bench.work(during=interrupting.after(3))
    model.default = enriching()
    return requested


def test_four_claims_are_lost_and_no_fifth_is_given(bench: Bench, silence: Silence, three_kept: Requested) -> None:
    for _ in range(4):
        assert bench.mapping().status == "Enriching"
        assert bench.claim() is not None
        silence.falls(bench)
    assert bench.claim() is None
    run = bench.run(three_kept)
    assert (run.state, run.reason) == ("Failed", "recovery_exhausted")
    assert run.error is not None
    assert "lost its worker 4 times" in run.error
    assert "3 of 5 items were completed" in run.error
    assert bench.mapping().status == "Draft"
    assert bench.sql(CHECKPOINTS) == []
    [job] = bench.sql("SELECT state, error FROM jobs")
    assert (job.state, job.error) == ("failed", "Given up after it was abandoned 4 times: 3 of 5 items completed.")


def test_a_recovered_run_goes_on_where_it_was_lost(
    bench: Bench, silence: Silence, three_kept: Requested, model: LlmServer
) -> None:
    assert bench.claim() is not None
    silence.falls(bench)
    assert bench.run(three_kept).state == "Processing"
    asked = len(model.requests)
    bench.work()
    assert bench.run(three_kept).state == "Completed"
    assert len(model.requests) == asked + 2


@pytest.mark.parametrize("found", ["by the reaper", "by its next claim"])
def test_a_run_without_its_stored_request_is_failed_for_good(
    bench: Bench, silence: Silence, three_kept: Requested, found: str
) -> None:
    silence.change("DELETE FROM job_bodies")
    claim = bench.claim()
    assert claim is not None
    if found == "by the reaper":
        silence.falls(bench)
    else:
        process = WorkerProcess(load())
        process._database = bench.database
        live(process, Held(claim))
    run = bench.run(three_kept)
    assert (run.state, run.reason) == ("Failed", "request_gone")
    assert run.error == (
        "The run is given up, because its stored request is gone: 3 of 5 items were completed. Ask for a new run."
    )
    assert bench.mapping().status == "Draft"
    assert bench.sql(CHECKPOINTS) == []
