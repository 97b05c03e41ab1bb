"""How many completions of one provider may be in flight at once in this process."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

#: How often a waiting call says that it waits: far more often than any stall threshold.
WAIT_SIGNAL_SECONDS = 5.0


class Slots:
    """A limit with a fair queue. Not `asyncio.Semaphore`: waiting has to give signs of life and keep its place."""

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._queue: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def one(self, on_wait: Callable[[], None] | None = None) -> AsyncIterator[None]:
        """Hold a slot. While none is free, `on_wait` is called at once and then every few seconds."""
        await self._take(on_wait)
        try:
            yield
        finally:
            self._give_back()

    async def _take(self, on_wait: Callable[[], None] | None) -> None:
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            while not turn.done():
                if on_wait is not None:
                    on_wait()
                await asyncio.wait({turn}, timeout=WAIT_SIGNAL_SECONDS)
        except BaseException:
            if turn.done():
                self._give_back()  # the slot came in the moment of the cancellation
            else:
                self._queue.remove(turn)
            raise

    def _give_back(self) -> None:
        if self._queue:
            self._queue.popleft().set_result(None)
        else:
            self._free += 1


_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Slots]] = WeakKeyDictionary()


def of_provider(base_url: str, limit: int) -> Slots:
    """The slots all clients of this base URL share. The first to ask sets the limit.

    A process has one event loop; keeping them by loop lets tests have one each.
    """
    return _slots.setdefault(asyncio.get_running_loop(), {}).setdefault(base_url, Slots(limit))
