"""What the ledger's side runs in the engine bench: a no-op step, with everything that surrounds a step on a server."""

import asyncio
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

from base.settings import Settings
from bench.engine_counting import Counting
from broker.step import Done, Work, step
from middleware.standard import use_broker

LANE = "bench"
TASK = "bench.noop"

counting: Counting | None = None


class Nothing(BaseModel):
    """No request at all."""


@step(
    TASK,
    lane=LANE,
    payload=Nothing,
    max_attempts=1,
    stale_after=timedelta(minutes=3),
    stall_after=timedelta(minutes=20),
)
async def noop(_work: Work, _request: Nothing) -> Done:
    """Nothing, counted."""
    if counting is not None:
        while not counting.is_open:  # noqa: ASYNC110  the gate is a file
            await asyncio.sleep(0.01)
        counting.count()
    return Done()


def serve(broker: str, database: str, level: str, folder: str) -> None:
    """Make it the broker that `dramatiq` finds."""
    global counting  # noqa: PLW0603  the step is a module's, and so is what it counts with
    counting = Counting(Path(folder))
    settings = Settings.model_validate({"broker_url": broker, "database_url": database, "logging": {"level": level}})
    use_broker(settings, lambda: None)
