"""Completion slots: a limit per provider, fair, cancellable, and never silent."""

import asyncio

import pytest

from clients.llm import slots
from clients.llm.slots import Slots, of_provider
from tests.clients.asking import ask, client
from tests.fakes.llm_replies import Answer, throttled
from tests.fakes.llm_server import Hold, LlmServer


async def turn_of_the_loop() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_no_more_than_the_limit_at_once_over_all_clients_of_a_provider(server: LlmServer) -> None:
    hold = Hold()
    server.default = Answer("{}", hold=hold)
    waits: list[str] = []

    async def run() -> None:
        models = [client(server, max_concurrent=2, name=name) for name in ("one", "other", "third")]
        calls = [
            asyncio.ensure_future(model.complete(ask(), on_wait=lambda: waits.append("waiting")))
            for model in models
            for _ in range(2)
        ]
        await asyncio.to_thread(server.wait_for, lambda: len(server.requests) == 2)
        await turn_of_the_loop()
        assert len(waits) == 4
        hold.open()
        await asyncio.gather(*calls)
        for model in models:
            await model.close()

    asyncio.run(run())

    assert len(server.requests) == 6
    assert server.most_in_flight == 2


def test_a_failed_call_gives_its_slot_back(server: LlmServer) -> None:
    server.then(throttled())

    async def run() -> None:
        model = client(server, max_concurrent=1)
        await asyncio.gather(model.complete(ask()), return_exceptions=True)
        await model.complete(ask())
        await model.close()

    asyncio.run(run())


def test_waiting_gives_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "WAIT_SIGNAL_SECONDS", 0.01)

    async def run() -> None:
        limit = Slots(1)
        signs = asyncio.Queue[None]()

        async def wait() -> None:
            async with limit.one(lambda: signs.put_nowait(None)):
                pass

        async with limit.one():
            waiting = asyncio.ensure_future(wait())
            for _ in range(3):
                await signs.get()
        await waiting

    asyncio.run(run())


def test_who_came_first_is_served_first() -> None:
    async def run() -> list[int]:
        limit, served = Slots(1), list[int]()

        async def wait(number: int) -> None:
            async with limit.one():
                served.append(number)
                await asyncio.sleep(0)

        async with limit.one():
            waiting = [asyncio.ensure_future(wait(number)) for number in range(5)]
            await turn_of_the_loop()
        await asyncio.gather(*waiting)
        return served

    assert asyncio.run(run()) == [0, 1, 2, 3, 4]


def test_a_cancelled_wait_takes_no_slot() -> None:
    async def run() -> None:
        limit = Slots(1)

        async def wait() -> None:
            async with limit.one():
                pass

        async with limit.one():
            given_up, patient = asyncio.ensure_future(wait()), asyncio.ensure_future(wait())
            await turn_of_the_loop()
            given_up.cancel()
            await asyncio.gather(given_up, return_exceptions=True)
        await patient
        async with limit.one():
            pass

    asyncio.run(asyncio.wait_for(run(), 5))


def test_a_slot_that_comes_in_the_moment_of_the_cancellation_is_passed_on() -> None:
    async def run() -> None:
        limit = Slots(1)

        async def wait() -> None:
            async with limit.one():
                pass

        async with limit.one():
            waiting = asyncio.ensure_future(wait())
            await turn_of_the_loop()
        waiting.cancel()  # the slot is already its own, but it has not run since
        await asyncio.gather(waiting, return_exceptions=True)
        async with limit.one():
            pass

    asyncio.run(asyncio.wait_for(run(), 5))


def test_a_listener_that_raises_takes_no_slot() -> None:
    class Stopped(Exception):
        pass

    def stop() -> None:
        raise Stopped

    async def run() -> None:
        limit = Slots(1)
        async with limit.one():
            with pytest.raises(Stopped):
                async with limit.one(stop):
                    pass
        async with limit.one():
            pass

    asyncio.run(asyncio.wait_for(run(), 5))


def test_providers_have_slots_of_their_own() -> None:
    async def run() -> None:
        assert of_provider("http://a/v1", 1) is of_provider("http://a/v1", 1)
        assert of_provider("http://a/v1", 1) is not of_provider("http://b/v1", 1)

    asyncio.run(run())
