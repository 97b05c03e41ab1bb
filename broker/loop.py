"""One event loop for the process: steps are coroutines on it, and each is waited for by one worker thread.

A coroutine that is cancelled may have SQL in flight in a thread; it has ended only when that has ended too, else its
claim would be given away while it still writes.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Generic, TypeVar

from base.clock import monotonic

T = TypeVar("T")

#: A cancellation may be swallowed by a careless `except`; it is repeated this often.
_CANCEL_AGAIN_SECONDS = 1.0

#: Futures of `asyncio.to_thread` calls made by the coroutine of this context.
_threads_of_run: contextvars.ContextVar["set[Future[Any]] | None"] = contextvars.ContextVar("_threads", default=None)


class Run(Generic[T]):
    """One coroutine on the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T]) -> None:
        self._loop = loop
        self._threads: set[Future[Any]] = set()
        self._ended: Future[T] = Future()
        self._task: asyncio.Task[T] | None = None
        self._cancelling = False
        context = contextvars.copy_context()
        context.run(_threads_of_run.set, self._threads)
        loop.call_soon_threadsafe(self._start, coroutine, context)

    def wait(self) -> T:
        """Wait, in a worker thread, until the coroutine and the threads it started have ended.

        Raises:
            BaseException: what the coroutine raised; asyncio.CancelledError if it was cancelled.
        """
        try:
            return self._ended.result()
        finally:
            wait(list(self._threads))

    def cancel(self) -> None:
        """Cancel the coroutine now, and again each second until it has ended. May be called from any thread."""
        if not self._cancelling:
            self._cancelling = True
            self._loop.call_soon_threadsafe(self._cancel)

    def _start(self, coroutine: Coroutine[Any, Any, T], context: contextvars.Context) -> None:
        self._task = self._loop.create_task(coroutine, context=context)
        self._task.add_done_callback(self._end)

    def _cancel(self) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()
            self._loop.call_later(_CANCEL_AGAIN_SECONDS, self._cancel)

    def _end(self, task: "asyncio.Task[T]") -> None:
        if task.cancelled():
            self._ended.set_exception(asyncio.CancelledError())
        elif (error := task.exception()) is not None:
            self._ended.set_exception(error)
        else:
            self._ended.set_result(task.result())


class Loop:
    """The process's event loop, in a thread of its own."""

    def __init__(self, sql_threads: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._asked_at: float | None = None
        self._loop.set_default_executor(_CountingExecutor(sql_threads, thread_name_prefix="sql"))
        self._thread = threading.Thread(target=self._loop.run_forever, name="loop", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> Run[T]:
        """Start a coroutine, in a copy of the calling thread's context."""
        return Run(self._loop, coroutine)

    def lag(self) -> float:
        """Seconds for which it has owed an answer; asked anew when it has answered."""
        if self._asked_at is not None:
            return monotonic() - self._asked_at
        self._asked_at = monotonic()
        self._loop.call_soon_threadsafe(self._answer)
        return 0.0

    def _answer(self) -> None:
        self._asked_at = None

    def is_alive(self) -> bool:
        """Whether its thread is there."""
        return self._thread.is_alive()

    def close(self) -> None:
        """End the loop. Nothing may run on it any more."""
        asyncio.run_coroutine_threadsafe(self._loop.shutdown_default_executor(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _CountingExecutor(ThreadPoolExecutor):
    """Notes each call with the run whose coroutine made it."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        future = super().submit(fn, *args, **kwargs)
        threads = _threads_of_run.get()
        if threads is not None:
            threads.add(future)
            future.add_done_callback(threads.discard)
        return future
