"""Steps for tests. What a test wants to see of them happens in a folder: files appear, and are waited for."""

import asyncio
import os
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TypedDict

from pydantic import BaseModel
from sqlalchemy import Connection, text

from base.errors import Permanent, Transient
from broker.step import Done, Work, step
from ledger.inserting import FollowUp

LANE = "test"


class _Patience(TypedDict):
    stale_after: timedelta
    stall_after: timedelta


_USUAL = _Patience(stale_after=timedelta(minutes=3), stall_after=timedelta(minutes=20))


class Nothing(BaseModel):
    """No request at all."""


class InFolder(BaseModel):
    """Where a step leaves its marks; `name` tells runs apart."""

    folder: Path
    name: str = "job"

    def mark(self, what: str) -> None:
        """Leave a mark that says which process made it; a second one of the same kind is a second line."""
        with (self.folder / f"{self.name}.{what}").open("a") as file:
            file.write(f"{os.getpid()}\n")

    def marked(self, what: str) -> bool:
        return (self.folder / f"{self.name}.{what}").exists()


class Amount(BaseModel):
    amount: int


def _break_a_rule(connection: Connection, work: Work) -> object:
    """Attempts are a count, says a CHECK."""
    return connection.execute(text("UPDATE jobs SET attempts = -1 WHERE id = :id"), {"id": work.claim.job_id})


@step("brokertest.noop", lane=LANE, payload=Nothing, max_attempts=3, **_USUAL)
async def noop(work: Work, request: Nothing) -> Done:
    return Done()


@step("brokertest.note", lane=LANE, payload=InFolder, max_attempts=3, **_USUAL)
async def note(work: Work, request: InFolder) -> Done:
    request.mark("ran")
    return Done(result=Amount(amount=1))


@step("brokertest.hold", lane=LANE, payload=InFolder, max_attempts=3, **_USUAL)
async def hold(work: Work, request: InFolder) -> Done:
    """Runs until it is let go; asks nobody meanwhile."""
    request.mark("started")
    try:
        while not request.marked("go"):  # noqa: ASYNC110  another process lets it go
            await asyncio.sleep(0.02)
    except asyncio.CancelledError:
        request.mark("cancelled")
        raise
    request.mark("ran")
    return Done()


@step("brokertest.stubborn", lane=LANE, payload=InFolder, max_attempts=3, **_USUAL)
async def stubborn(work: Work, request: InFolder) -> Done:
    """Swallows every cancellation until it is let go."""
    request.mark("started")
    while not request.marked("go"):
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.02)
    return Done()


@step("brokertest.blocking", lane=LANE, payload=InFolder, max_attempts=3, **_USUAL)
async def blocking(work: Work, request: InFolder) -> Done:
    """Blocks the loop until it is let go."""
    request.mark("started")
    while not request.marked("go"):
        time.sleep(0.02)  # noqa: ASYNC251  that is the point
    return Done()


@step("brokertest.passes", lane=LANE, payload=InFolder, max_recoveries=3, **_USUAL)
async def passes(work: Work, request: InFolder) -> Done:
    """Passes without end, each with a checkpoint, until it is let go."""
    request.mark("started")
    while not request.marked("go"):
        await work.pass_boundary()
        await asyncio.sleep(0.05)
        await work.checkpoint(lambda connection: connection.execute(text("SELECT 1")))
        request.mark("pass")
    request.mark("ran")
    return Done()


@step("brokertest.gated", lane=LANE, payload=InFolder, gate="test-gate", gate_slots=1, max_attempts=3, **_USUAL)
async def gated(work: Work, request: InFolder) -> Done:
    return await hold(work, request)


@step("brokertest.busy", lane=LANE, payload=InFolder, max_attempts=3, ladder=(timedelta(hours=1),), **_USUAL)
async def busy(work: Work, request: InFolder) -> Done:
    raise Transient("The partner is busy.")


@step("brokertest.broken", lane=LANE, payload=InFolder, **_USUAL)
async def broken(work: Work, request: InFolder) -> Done:
    raise Permanent("It can't be done.", reason="impossible")


@step("brokertest.bug", lane=LANE, payload=InFolder, max_recoveries=3, **_USUAL)
async def bug(work: Work, request: InFolder) -> Done:
    raise ZeroDivisionError("division by zero")


@step("brokertest.slow", lane=LANE, payload=InFolder, time_limit=timedelta(milliseconds=200), max_attempts=1, **_USUAL)
async def slow(work: Work, request: InFolder) -> Done:
    await asyncio.sleep(60)
    return Done()


@step("brokertest.refused", lane=LANE, payload=InFolder, max_attempts=1, **_USUAL)
async def refused(work: Work, request: InFolder) -> Done:
    def write(connection: Connection) -> None:
        _break_a_rule(connection, work)

    return Done(write=write)


@step("brokertest.leads", lane=LANE, payload=InFolder, max_attempts=1, **_USUAL)
async def leads(work: Work, request: InFolder) -> Done:
    return Done(reason="partial", follow_ups=[FollowUp(task="brokertest.note", payload=request)])


@step("brokertest.careless", lane=LANE, payload=InFolder, max_attempts=1, **_USUAL)
async def careless(work: Work, request: InFolder) -> Done:
    """Its checkpoints are refused: one by the database's rules, one by its types."""
    refused = [
        await work.checkpoint(lambda connection: _break_a_rule(connection, work)),
        await work.checkpoint(lambda c: c.execute(text("SELECT CAST('x' AS integer)"))),
    ]
    return Done(result=Amount(amount=len([one for one in refused if one is not None])))
