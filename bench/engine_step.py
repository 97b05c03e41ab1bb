"""What the ledger's side runs in the engine bench: a no-op step, with everything that surrounds a step on a server."""

import asyncio
import os
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

from base.settings import load
from bench.engine_counting import Counting
from broker.step import Done, Work, step

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


if "BENCH_FOLDER" in os.environ:  # noqa: TID251  how the bench speaks to its processes
    from middleware.standard import use_broker

    counting = Counting(Path(os.environ["BENCH_FOLDER"]))  # noqa: TID251
    use_broker(load(), lambda: None)
