"""The items of a run in their order: overview first, then chunks, several at a time where that is wanted (E19, D8).

What ends a run early ends it at a pass boundary: no new pass begins, those in flight are awaited. Only a lost
model, a lost claim and a cancel cut what is in flight.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress

from actors.enrichment import answers
from actors.enrichment.answers import MappingAnswer
from actors.enrichment.chunks import ChunkAsker, ChunkOutcome
from actors.enrichment.harvest import Harvest
from actors.enrichment.passes import Passes
from actors.enrichment.plan import OVERVIEW, Plan
from actors.enrichment.planner import Chunk
from actors.enrichment.progress import Board
from actors.enrichment.questions import Answered, ModelLost, Question, TokensSpent
from base.errors import HandOver
from clients.llm.model import Ask


class Execution:
    """Runs the items of one plan."""

    def __init__(
        self, plan: Plan, passes: Passes, asker: ChunkAsker, board: Board, *, concurrent: int, mapping_rides_along: bool
    ) -> None:
        self._plan = plan
        self._rides = mapping_rides_along and not plan.overview
        self._passes = passes
        self._asker = asker
        self._board = board
        self._concurrent = concurrent
        self._harvest = Harvest(chunks={chunk.id: ChunkOutcome() for chunk in plan.chunks})

    async def run(self, overview: Ask) -> Harvest:
        """Ask everything that is planned; `overview` is the prompt of that pass."""
        with suppress(ModelLost):  # the item that met it has said so
            if self._plan.overview:
                await self._ask_overview(overview)
            await self._ask_chunks()
        return self._harvest

    async def _ask_overview(self, ask: Ask) -> None:
        question = Question(
            kind="overview",
            chunk_id=OVERVIEW,
            operations=(),
            ask=ask,
            answer=MappingAnswer,
            read=answers.read_overview,
            count=lambda answer: {
                target: 1
                for target, text in (("mapping_name", answer.name), ("mapping_description", answer.description))
                if text
            },
        )
        try:
            ended = await self._passes.ask(question)
        except TokensSpent:
            self._harvest.stopped += 1
            return
        except ModelLost as lost:
            await self._lost(OVERVIEW, lost, None)
            raise
        if isinstance(ended, Answered):
            self._harvest.overview = ended.pass_key, ended.answer
        await self._ended(OVERVIEW, None if isinstance(ended, Answered) else ended.why, None)

    async def _ask_chunks(self) -> None:
        """The first alone when several may run at once: it warms the provider's cache for the others (D8)."""
        chunks = list(self._plan.chunks)
        if self._concurrent > 1 and chunks:
            await self._ask_chunk(chunks.pop(0))
        waiting = iter(chunks)
        tasks = {
            asyncio.create_task(self._one_after_another(waiting)) for _ in range(min(self._concurrent, len(chunks)))
        }
        try:
            await _until_one_must_stop(tasks)
        finally:
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        _raise_the_gravest(ends)

    async def _one_after_another(self, waiting: Iterator[Chunk]) -> None:
        for chunk in waiting:
            if self._harvest.lost is None:
                await self._ask_chunk(chunk)

    async def _ask_chunk(self, chunk: Chunk) -> None:
        brought = self._harvest.chunks[chunk.id]
        try:
            await self._asker.ask(chunk, brought, with_mapping=self._rides and chunk is self._plan.chunks[0])
        except TokensSpent:
            self._harvest.stopped += 1
            return
        except ModelLost as lost:
            await self._lost(chunk.label, lost, chunk)
            raise
        await self._ended(chunk.label, None if brought.was_answered else brought.failures[0], chunk)

    async def _lost(self, label: str, lost: ModelLost, chunk: Chunk | None) -> None:
        """The item at which the model was lost has failed; no other begins (D3, E2)."""
        self._harvest.lost = lost
        await self._ended(label, str(lost), chunk)

    async def _ended(self, label: str, why: str | None, chunk: Chunk | None) -> None:
        """An item has ended, well without a `why`; the overview is the one that is no chunk."""
        if why is not None:
            self._harvest.failures[label] = why
        await self._board.item_ended(well=why is None, next_up=self._label_after(chunk))

    def _label_after(self, chunk: Chunk | None) -> str:
        """What comes next in the plan: exact with one chunk at a time, near enough with several."""
        chunks = self._plan.chunks
        place = 0 if chunk is None else chunks.index(chunk) + 1
        return chunks[place].label if place < len(chunks) else ""


async def _until_one_must_stop(tasks: set["asyncio.Task[None]"]) -> None:
    """Until all have ended, or one has for a reason that allows no waiting for the others."""
    waiting = tasks
    while waiting:
        ended, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_EXCEPTION)
        if any(_gravity(task.exception()) > _PATIENT for task in ended if not task.cancelled()):
            return


#: How grave an end is: none, at a boundary, or at once.
_PATIENT = 1


def _gravity(end: BaseException | None) -> int:
    if end is None or isinstance(end, asyncio.CancelledError):
        return 0
    return _PATIENT if isinstance(end, HandOver) else _PATIENT + 1


def _raise_the_gravest(ends: Sequence[BaseException | None]) -> None:
    gravest = max(ends, key=_gravity, default=None)
    if gravest is not None and _gravity(gravest):
        raise gravest
