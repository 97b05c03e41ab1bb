"""The attempts of one pass: E22, D2, D6."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from actors.enrichment import attempts, prompts
from actors.enrichment.answers import MappingAnswer, read_overview
from actors.enrichment.attempts import Attempts, Patience, attempt
from actors.enrichment.questions import Answered, GivenUp, Question, TooLarge
from clients.llm.errors import Filtered, ModelFailure, RefusingModel, TooLong, Unavailable
from clients.llm.model import Ask, Completion, Message, Usage

ASK = Ask((), prompts.MAPPING_SCHEMA, "overview", 100, None)
QUESTION = Question(
    kind="overview",
    chunk_id=None,
    operations=(),
    ask=ASK,
    answer=MappingAnswer,
    read=read_overview,
    count=lambda _: {},
)
PATIENCE = Patience(retries=2, delay=timedelta(seconds=2), longest=timedelta(seconds=120), on_invalid_json=True)
COST = Usage(10, 5)


def completed(text: str, finish: str = "stop") -> Completion:
    return Completion(text, finish, COST)  # type: ignore[arg-type]


GOOD = completed('{"name": "Water", "description": null}')
PROSE = completed("I think it is about water.")


def busy(retry_after: float | None = None) -> Unavailable:
    wait = None if retry_after is None else timedelta(seconds=retry_after)
    return Unavailable("The model is busy.", usage=COST, retry_after=wait)


class Scripted:
    """A model that says what it is told to, once each."""

    provider = name = "scripted"

    def __init__(self, *script: Completion | ModelFailure) -> None:
        self.script = list(script)

    async def complete(self, ask: Ask, **_: Callable[..., None] | None) -> Completion:
        said = self.script.pop(0)
        if isinstance(said, ModelFailure):
            raise said
        return said

    async def close(self) -> None: ...


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between attempts, which take no time here."""
    noted: list[float] = []

    async def sleep(seconds: float) -> None:
        noted.append(seconds)

    monkeypatch.setattr(attempts.asyncio, "sleep", sleep)  # type: ignore[attr-defined]
    return noted


def ask(*script: Completion | ModelFailure, patience: Patience = PATIENCE) -> tuple[object, Attempts, int]:
    model, tried = Scripted(*script), Attempts()
    ended = asyncio.run(attempt(model, QUESTION, patience, tried, lambda: None))
    return ended, tried, len(model.script)


def test_an_answer_ends_it(waits: list[float]) -> None:
    ended, tried, _ = ask(GOOD)
    assert isinstance(ended, Answered)
    assert ended.answer == MappingAnswer(name="Water")
    assert (tried.count, tried.usage, waits) == (1, COST, [])


def test_what_may_get_better_is_asked_again_and_every_attempt_is_paid_for(waits: list[float]) -> None:
    ended, tried, _ = ask(busy(), busy(7), GOOD)
    assert isinstance(ended, Answered)
    assert tried.count == 3
    assert tried.usage == COST + COST + COST
    assert waits == [2, 7]


def test_after_the_last_retry_it_is_given_up(waits: list[float]) -> None:
    ended, tried, left = ask(busy(), PROSE, busy(), GOOD)
    assert ended == GivenUp("The model is busy.")
    assert (tried.count, left) == (3, 1)


def test_a_longer_wait_than_is_obeyed_fails_at_once(waits: list[float]) -> None:
    ended, tried, _ = ask(busy(121), GOOD)
    assert isinstance(ended, GivenUp)
    assert "121 s, and LONGHAUL_LLM__RETRY_AFTER_CAP allows 120 s" in ended.why
    assert (tried.count, waits) == (1, [])


def test_prose_is_asked_again_only_where_that_is_wanted(waits: list[float]) -> None:
    assert isinstance(ask(PROSE, GOOD)[0], Answered)
    stubborn = Patience(retries=2, delay=timedelta(0), longest=timedelta(0), on_invalid_json=False)
    ended, tried, left = ask(PROSE, GOOD, patience=stubborn)
    assert ended == GivenUp(
        "The model's answer can't be used: it is no JSON object. Ask again with --only-missing, or ask another model "
        "with --model."
    )
    assert (tried.count, left) == (1, 1)
    assert tried.raw_output == PROSE.text


@pytest.mark.parametrize(
    ("said", "silent"),
    [
        (completed(GOOD.text, "length"), False),
        (completed(" \n ", "length"), True),
        (TooLong("Too long.", usage=COST), False),
    ],
)
def test_what_is_cut_is_never_read_and_never_asked_again(
    waits: list[float], said: Completion | ModelFailure, silent: bool
) -> None:
    ended, tried, left = ask(said, GOOD)
    assert ended == TooLarge(silent=silent)
    assert (tried.count, tried.usage, left) == (1, COST, 1)


@pytest.mark.parametrize("said", [completed("", "filtered"), Filtered("Filtered.", usage=COST)])
def test_a_filtered_pass_is_given_up_at_once(waits: list[float], said: Completion | ModelFailure) -> None:
    ended, tried, left = ask(said, GOOD)
    assert isinstance(ended, GivenUp)
    assert (tried.count, tried.usage, left) == (1, COST, 1)


def test_a_model_that_refuses_everybody_ends_more_than_the_pass(waits: list[float]) -> None:
    tried = Attempts()
    with pytest.raises(RefusingModel):
        asyncio.run(attempt(Scripted(RefusingModel("No key.", usage=COST)), QUESTION, PATIENCE, tried, lambda: None))
    assert tried.usage == COST


class Endless:
    """A model that fails once, then begins an answer that never ends, or waits for its turn for ever."""

    provider = name = "endless"

    def __init__(self, *, queued: bool) -> None:
        self.queued = queued
        self.failures = [busy()]
        self.begun = asyncio.Event()

    async def complete(
        self,
        ask: Ask,
        *,
        on_tokens: Callable[[int], None] | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> Completion:
        if self.failures:
            raise self.failures.pop()
        assert on_wait is not None
        assert on_tokens is not None
        on_wait()
        if not self.queued:
            on_tokens(7)
            on_tokens(9)
        self.begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def close(self) -> None: ...


@pytest.mark.parametrize(("queued", "cut"), [(False, Usage(2, 9, estimated=True)), (True, Usage())])
def test_what_a_cut_call_cost_is_known_with_its_failed_attempts(queued: bool, cut: Usage) -> None:
    patience = Patience(retries=2, delay=timedelta(0), longest=timedelta(0), on_invalid_json=True)
    question = replace(QUESTION, ask=replace(ASK, messages=(Message("user", "12345678"),)))
    tried = Attempts()

    async def cut_short() -> None:
        model = Endless(queued=queued)
        task = asyncio.create_task(attempt(model, question, patience, tried, lambda: None))
        await model.begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cut_short())
    assert tried.usage == COST + cut
    assert tried.count == 2
