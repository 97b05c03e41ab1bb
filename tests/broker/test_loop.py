"""The event loop of a process: a coroutine has ended only when the threads it started have."""

import asyncio
import contextvars
import threading
from collections.abc import Iterator

import pytest

from broker import loop as loops
from broker.loop import Loop


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop(sql_threads=2)
    yield loop
    loop.close()


def test_a_result_and_an_error_come_back(loop: Loop) -> None:
    async def answer() -> int:
        return 7

    async def fail() -> None:
        raise ValueError("no")

    assert loop.run(answer()).wait() == 7
    with pytest.raises(ValueError, match="no"):
        loop.run(fail()).wait()


def test_the_context_of_the_calling_thread_comes_along(loop: Loop) -> None:
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name")
    name.set("a job")

    async def read() -> str:
        return name.get()

    assert loop.run(read()).wait() == "a job"


def test_a_cancelled_run_ends_after_its_threads(loop: Loop) -> None:
    began, end = threading.Event(), threading.Event()

    def blocking() -> None:
        began.set()
        end.wait(10)

    run = loop.run(asyncio.to_thread(blocking))
    began.wait(5)
    waited = _waiting(run)
    run.cancel()

    assert not waited.wait(0.3)
    end.set()
    assert waited.wait(5)


def test_a_cancellation_that_is_swallowed_is_repeated(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "_CANCEL_AGAIN_SECONDS", 0.05)
    began = threading.Event()
    swallowed: list[int] = []

    async def stubborn() -> None:
        began.set()
        while True:
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                swallowed.append(1)
                if len(swallowed) == 3:
                    raise

    run = loop.run(stubborn())
    began.wait(5)
    run.cancel()
    run.cancel()

    with pytest.raises(asyncio.CancelledError):
        run.wait()
    assert len(swallowed) == 3


def test_a_run_cancelled_before_it_began_does_not_begin(loop: Loop) -> None:
    began: list[int] = []

    async def body() -> None:
        began.append(1)

    blocked, go = threading.Event(), threading.Event()
    loop._loop.call_soon_threadsafe(blocked.set)
    loop._loop.call_soon_threadsafe(go.wait, 5)
    blocked.wait(5)
    run = loop.run(body())
    run.cancel()
    go.set()

    with pytest.raises(asyncio.CancelledError):
        run.wait()
    assert began == []


def _waiting(run: "loops.Run[None]") -> threading.Event:
    """Set once the run has ended, as a worker thread sees it."""
    ended = threading.Event()

    def wait() -> None:
        with pytest.raises(asyncio.CancelledError):
            run.wait()
        ended.set()

    threading.Thread(target=wait).start()
    return ended
