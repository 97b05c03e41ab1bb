"""The one point where a run's bar, its counts, its liveness and its live views move together (E26)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from broker.signals import publish_progress
from broker.step import Work
from clients.llm.model import Usage
from schema.enrichment import runs
from schema.enrichment.runs import Tally


@dataclass
class Board:
    """How many of a run's items have ended, and how (E2)."""

    work: Work
    run_id: UUID
    mapping_id: UUID
    total: int
    #: What the run has cost so far, over all claims.
    usage: Callable[[], Usage]
    #: Items an earlier claim has shown as ended: the bar waits for them to be replayed, it never goes back.
    shown: int = 0
    failed: int = 0
    completed: int = 0

    @property
    def processed(self) -> int:
        """Items that have ended, well or badly."""
        return self.failed + self.completed

    async def item_ended(self, *, well: bool, next_up: str) -> None:
        """Count an item; `next_up` is the label of what comes next, empty at the end."""
        if well:
            self.completed += 1
        else:
            self.failed += 1
        if self.processed < min(self.shown, self.total):
            return
        items = Tally(self.processed, self.failed, self.completed)
        await self.work.note(lambda connection: runs.tally(connection, self.run_id, items))
        await self.work.progress(done=self.processed, total=self.total)
        publish_progress(self._snapshot(next_up))

    def _snapshot(self, next_up: str) -> Mapping[str, Any]:
        usage = self.usage()
        return {
            "run_id": str(self.run_id),
            "mapping_id": str(self.mapping_id),
            "account_id": str(self.work.claim.account_id),
            "total_items": self.total,
            "processed_items": self.processed,
            "failed_items": self.failed,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": usage.total_tokens,
            "current": next_up,
        }
