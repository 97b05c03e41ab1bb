"""What shows that a run lives: E2, E22, E26."""

import asyncio
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import text

from actors.enrichment import passes
from actors.enrichment.request import Requested
from broker.held import Held
from clients.llm import slots
from schema.engine import Database
from tests.enrichment.conftest import Set
from tests.enrichment.working import Bench, definition
from tests.fakes.llm_enriching import asked, enriched, enriching
from tests.fakes.llm_replies import Answer, prose
from tests.fakes.llm_server import Exchange, LlmServer, Reply


@pytest.fixture
def bench(database: Database, account_id: UUID) -> Bench:
    return Bench.of(database, account_id)


class Watching:
    """Notes how far a run's progress had moved whenever its model is asked."""

    def __init__(self, bench: Bench, requested: Requested) -> None:
        self.bench, self.requested = bench, requested
        self.seen: list[datetime] = []

    def __call__(self, reply: Reply) -> Reply:
        async def watched(exchange: Exchange) -> None:
            self.seen.append(await asyncio.to_thread(self.moved_at))
            await reply(exchange)

        return watched

    def moved_at(self) -> datetime:
        moved = self.bench.run(self.requested).progress_at
        assert moved is not None
        return moved

    @property
    def always_moved(self) -> bool:
        """Whether each request found the progress further than the one before it."""
        return all(earlier < later for earlier, later in zip(self.seen, self.seen[1:], strict=False))


def test_digest_overview_and_chunks_move_progress_failed_ones_too(bench: Bench, model: LlmServer, set_to: Set) -> None:
    set_to(semantic_enrichment__max_chunk_retries=0)
    requested = bench.ask(("notes.txt", "CwpX0: Who holds the permit."))
    watching = Watching(bench, requested)
    model.default = watching(enriching())
    model.then(watching(enriching()), watching(prose()), watching(enriching()), watching(prose()))
    bench.work()
    assert bench.run(requested).failed_items == 2
    assert len(watching.seen) == 6
    assert watching.always_moved


def test_each_call_of_a_split_moves_progress(database: Database, account_id: UUID, model: LlmServer) -> None:
    bench = Bench.of(database, account_id, definition({"/only": ["CwpX", "QtrNc", "FacSic", "PdwIds"]}))
    requested = bench.ask(targets=("output_field_names",))
    watching = Watching(bench, requested)
    model.default = watching(enriching())
    model.then(watching(Answer(enriched, finish="length")), watching(Answer(enriched, finish="length")))
    bench.work()
    assert bench.run(requested).total_items == 1
    assert len(watching.seen) == 5
    assert watching.always_moved


def test_waiting_for_a_completion_slot_moves_progress(
    bench: Bench, model: LlmServer, set_to: Set, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_to(llm__max_concurrent_completions=1, semantic_enrichment__max_concurrent_chunks=2)
    monkeypatch.setattr(passes, "PULSE", timedelta(0))
    monkeypatch.setattr(slots, "WAIT_SIGNAL_SECONDS", 0.02)
    requested = bench.ask(targets=("output_field_names",))
    watching = Watching(bench, requested)

    async def busy_until_progress_moves(exchange: Exchange) -> None:
        before = await asyncio.to_thread(watching.moved_at)
        async with asyncio.timeout(20):
            while await asyncio.to_thread(watching.moved_at) == before:  # noqa: ASYNC110  a row of the database
                await asyncio.sleep(0.02)
        await enriching()(exchange)

    model.then(enriching(), busy_until_progress_moves)
    bench.work()
    run = bench.run(requested)
    assert (run.state, run.reason) == ("Completed", None)
    assert model.most_in_flight == 1
    assert "/p3" in str(asked(model.requests[1].user))


@pytest.mark.parametrize("end", ["done", "failed"])
def test_the_last_beat_of_its_worker_stays_with_an_ended_run(bench: Bench, model: LlmServer, end: str) -> None:
    beats: list[datetime] = []

    def beats_later(held: Held) -> None:
        """Later than anything the run itself writes."""
        with bench.database.engine() as connection:
            statement = "UPDATE workers SET beat_at = beat_at + interval '1 hour' RETURNING beat_at"
            beats.extend(connection.execute(text(statement)).scalars())

    model.default = enriching() if end == "done" else Answer('{"entries": []}')
    requested = bench.ask(targets=("output_field_names",))
    bench.work(during=beats_later)
    run = bench.run(requested)
    assert run.state == ("Completed" if end == "done" else "Failed")
    assert [run.heartbeat_at] == beats
