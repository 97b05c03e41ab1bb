"""What a step's coroutine holds while it works, and what it answers when it is done."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from base import logs
from broker.held import Held
from broker.waits import waits
from ledger import running
from ledger.claiming import Claim
from ledger.inserting import FollowUp
from schema.engine import Database, DatabaseAway

T = TypeVar("T")

#: How often a run that may not start a pass looks whether it may.
_LOOK_SECONDS = 0.5

log = logs.get(__name__)


@dataclass(frozen=True)
class Done:
    """How a step ended well; written in the one transaction that ends its job (I4).

    Attributes:
        result: kept on the job.
        write: writes what the step brought, in that transaction.
        reason: literal code, where plain `done` says too little.
        follow_ups: jobs to insert with it.
    """

    result: BaseModel | None = None
    write: Callable[[Connection], None] | None = None
    reason: str | None = None
    follow_ups: Sequence[FollowUp] = ()


class Work:
    """One claimed job, as its coroutine sees it.

    Args:
        claim: the job.
        database: where it writes.
        held: what may stop it; nothing does when none is given.
        heard: whether the process's beats reach the database.
    """

    def __init__(
        self, claim: Claim, database: Database, *, held: Held | None = None, heard: Callable[[], bool] = lambda: True
    ) -> None:
        self.claim = claim
        self.database = database
        self._held = held or Held(claim)
        self._heard = heard

    async def pass_boundary(self) -> None:
        """Ask whether the next pass may start; waits while the process's beats don't arrive (I9).

        Raises:
            HandOver: give the claim back, resume elsewhere.
            ClaimLost, Canceled: stop, write nothing.
        """
        self._held.check()
        if not self._heard():
            log.warning("no pass starts: the worker's beats do not reach the database")
        while not self._heard():
            await asyncio.sleep(_LOOK_SECONDS)
            self._held.check()

    async def progress(self, done: int | None = None, total: int | None = None) -> None:
        """Say that the work advances, and how many items are done. A database that is away is not waited for.

        Raises:
            ClaimLost: the claim is no longer held.
        """
        try:
            await asyncio.to_thread(running.progress, self.database, self.claim, done=done, total=total)
        except DatabaseAway as error:
            log.warning("progress was not noted", error=str(error))

    async def checkpoint(self, write: Callable[[Connection], T]) -> T | None:
        """Store what a pass brought, in a transaction of its own, so that it is never paid for again (I7).

        A database that is away is waited for. A row the database refuses, for whatever reason, is logged, and the run
        goes on without that checkpoint (E30): the answer is None.

        Raises:
            ClaimLost: the claim is no longer held; nothing was written.
            HandOver, Canceled: it was stopped while the database was away.
        """
        return await self._store(write, finishes_pass=True)

    async def note(self, write: Callable[[Connection], T]) -> T | None:
        """As `checkpoint`, for what is worth keeping but is no finished pass: it does not make a handover progress."""
        return await self._store(write, finishes_pass=False)

    def at_parting(self, write: Callable[[Connection], None]) -> None:
        """Have this written before the claim ends: what a coroutine that was cut can't await any more.

        Fenced, in a transaction of its own, once. A later one takes the place of an earlier one; where the claim is
        lost or canceled nothing is written.
        """
        self._held.parting = write

    async def read(self, look: Callable[[], T]) -> T:
        """Read in a thread; a database that is away is waited for.

        Raises:
            HandOver, ClaimLost, Canceled: it was stopped while the database was away.
        """
        return await self._when_there("read", look)

    async def _store(self, write: Callable[[Connection], T], *, finishes_pass: bool) -> T | None:
        try:
            stored = await self._when_there("store", lambda: running.checkpoint(self.database, self.claim, write))
        except DBAPIError as error:
            # Its further lines, and a traceback, would show the row.
            why = str(error.orig).split("\n", 1)[0]
            log.error("a checkpoint was refused; the run goes on without it", error=why)  # noqa: TRY400
            await self.progress()
            return None
        self._held.progressed = self._held.progressed or finishes_pass
        return stored

    async def _when_there(self, what: str, call: Callable[[], T]) -> T:
        """Make the call in a thread, as often as it takes until the database is there."""
        for wait in waits():
            try:
                return await asyncio.to_thread(call)
            except DatabaseAway as error:
                log.warning("the run waits for the database", to=what, error=str(error), seconds=round(wait))
            self._held.check()
            await asyncio.sleep(wait)
        raise AssertionError("waits never end")
