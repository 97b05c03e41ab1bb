"""What an ended run leaves behind: its log, and no checkpoints (E30)."""

from collections.abc import Callable
from uuid import UUID

import pytest

from actors.enrichment.request import Requested
from ledger import ending
from schema.engine import Database
from tests.enrichment.test_resuming import Interrupting
from tests.enrichment.working import Bench
from tests.fakes.llm_enriching import enriching
from tests.fakes.llm_replies import out_of_quota
from tests.fakes.llm_server import LlmServer


@pytest.fixture
def bench(database: Database, account_id: UUID) -> Bench:
    return Bench.of(database, account_id)


def completes(bench: Bench, model: LlmServer, requested: Requested) -> None:
    bench.work()


def fails(bench: Bench, model: LlmServer, requested: Requested) -> None:
    model.default = out_of_quota()
    bench.sql("UPDATE enrichment_passes SET answer = '{\"unreadable\": 1}' WHERE kind = 'chunk'")
    bench.work()


def is_canceled(bench: Bench, model: LlmServer, requested: Requested) -> None:
    ending.cancel(bench.database, bench.account_id, requested.job_id, by="a test")


def is_given_up(bench: Bench, model: LlmServer, requested: Requested) -> None:
    for _ in range(4):
        bench.work(during=lambda held: held.draining.set())


@pytest.mark.parametrize(
    ("end", "state", "reason"),
    [
        (completes, "Completed", None),
        (fails, "Failed", "model_refusing"),
        (is_canceled, "Canceled", "canceled_by_operator"),
        (is_given_up, "Failed", "recovery_exhausted"),
    ],
)
def test_every_end_clears_the_checkpoints_and_keeps_the_log(
    bench: Bench,
    model: LlmServer,
    end: Callable[[Bench, LlmServer, Requested], None],
    state: str,
    reason: str | None,
) -> None:
    model.default = interrupting = Interrupting(model)
    requested = bench.ask()
    bench.work(during=interrupting.after(3))
    kept = "SELECT chunk_id FROM enrichment_passes WHERE answer IS NOT NULL ORDER BY id"
    assert [row.chunk_id for row in bench.sql(kept)] == ["overview", "c1", "c2"]
    model.default = enriching()
    end(bench, model, requested)
    run = bench.run(requested)
    assert (run.state, run.reason) == (state, reason)
    assert bench.sql(kept) == []
    assert [one.chunk_id for one in bench.passes(requested)][:3] == ["overview", "c1", "c2"]
    [row] = bench.sql("SELECT plan, raw_output FROM enrichment_runs JOIN enrichment_passes ON chunk_id = 'c1' LIMIT 1")
    assert row.plan == {"selected": []}
    assert row.raw_output
