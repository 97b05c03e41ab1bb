"""The attempts of one pass (E22): which failures are worth asking again, how long to wait, and what it all cost.

ask ─> answer ─> read ─> accepted          Answered
 │        │        └──> no answer ─┐
 │        └─> cut off ──> TooLarge │       never ask the same bytes again (D2)
 └─> failed ─> wait ─> ask again <─┘       at most `MaxChunkRetries` times, whatever the reason
                 └──> GivenUp              unless the model refuses every prompt: that ends the run
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta

from actors.enrichment.answers import InvalidAnswer, NoObject
from actors.enrichment.questions import Answer, Answered, GivenUp, Question, TooLarge
from base.settings import Settings
from clients.llm.errors import ModelFailure, Rejected, TooLong, Unavailable, Unreachable
from clients.llm.model import NOTHING, Ask, Completion, LanguageModel, Usage
from clients.llm.usage import estimate

_ANOTHER_MODEL = "Ask again with --only-missing, or ask another model with --model."


@dataclass(frozen=True)
class Patience:
    """How often and after what wait a pass asks again; `longest` caps what a provider may wish for."""

    retries: int
    delay: timedelta
    longest: timedelta
    on_invalid_json: bool

    @classmethod
    def of(cls, settings: Settings) -> "Patience":
        """As the settings say."""
        enrichment = settings.semantic_enrichment
        return cls(
            retries=enrichment.max_chunk_retries,
            delay=timedelta(seconds=enrichment.retry_delay_seconds),
            longest=settings.llm.retry_after_cap,
            on_invalid_json=enrichment.retry_on_invalid_json,
        )


@dataclass
class Attempts:
    """What was tried: how often, at what cost over all attempts, and what was said last (D6)."""

    count: int = 0
    usage: Usage = NOTHING
    raw_output: str | None = None
    warnings: list[str] = field(default_factory=list)


async def attempt(
    model: LanguageModel,
    question: Question[Answer],
    patience: Patience,
    tried: Attempts,
    on_wait: Callable[[], None],
) -> Answered[Answer] | TooLarge | GivenUp:
    """Ask until there is an answer, or none will come; `tried` is filled in as it goes, also when cut or raising.

    Raises:
        RefusingModel: no prompt of this run will be answered; `tried` holds what it cost.
    """
    ask = question.ask
    while True:
        tried.count += 1
        ended = await _once(model, question, ask, tried, on_wait)
        if not isinstance(ended, Unavailable | InvalidAnswer):
            return ended
        wait = _wait_after(ended, tried.count, patience)
        if isinstance(wait, GivenUp):
            return wait
        if isinstance(ended, NoObject):
            # Some models say nothing, or nothing but blanks, as long as a server enforces a schema on them.
            ask = replace(ask, enforced=False)
        await asyncio.sleep(wait.total_seconds())


async def _once(
    model: LanguageModel, question: Question[Answer], ask: Ask, tried: Attempts, on_wait: Callable[[], None]
) -> Answered[Answer] | TooLarge | GivenUp | InvalidAnswer | Unavailable:
    """One attempt; the last two of its ends may be followed by another."""
    try:
        completion = await _complete(model, ask, tried, on_wait)
    except ModelFailure as failure:
        tried.usage += failure.usage
        match failure:
            case Unavailable():
                return failure
            case TooLong():
                return TooLarge()
            case Rejected():
                return GivenUp(str(failure))
        raise
    return _read(question, completion, tried)


def _wait_after(ended: InvalidAnswer | Unavailable, count: int, patience: Patience) -> timedelta | GivenUp:
    """How long to wait before asking again, or why not to."""
    if isinstance(ended, InvalidAnswer):
        if patience.on_invalid_json and count <= patience.retries:
            return patience.delay
        return GivenUp(f"The model's answer can't be used: {ended}. {_ANOTHER_MODEL}")
    wait = max(patience.delay, ended.retry_after or timedelta(0))
    if wait > max(patience.longest, patience.delay):
        return GivenUp(f"{ended} {_too_long_a_wait(wait, patience)}")
    if count > patience.retries:
        return GivenUp(str(ended), unreached=isinstance(ended, Unreachable))
    return wait


def _too_long_a_wait(wait: timedelta, patience: Patience) -> str:
    return (
        f"It asks to wait {wait.total_seconds():g} s, and LONGHAUL_LLM__RETRY_AFTER_CAP allows "
        f"{patience.longest.total_seconds():g} s: raise it, or ask again later."
    )


async def _complete(model: LanguageModel, ask: Ask, tried: Attempts, on_wait: Callable[[], None]) -> Completion:
    """One call. One that is cut has no other way to say what it cost than this (D6)."""
    flight = _Flight(on_wait)
    try:
        return await model.complete(ask, on_tokens=flight.received, on_wait=flight.waits)
    except asyncio.CancelledError:
        tried.usage += flight.cost(ask)
        raise


class _Flight:
    """A call on its way, by what it lets us know."""

    def __init__(self, on_wait: Callable[[], None]) -> None:
        self._on_wait = on_wait
        self._output = 0
        self._is_queued = False

    def received(self, tokens: int) -> None:
        """So many output tokens have arrived in all."""
        self._output, self._is_queued = tokens, False

    def waits(self) -> None:
        """It waits for a completion slot: nothing was asked yet."""
        self._is_queued = True
        self._on_wait()

    def cost(self, ask: Ask) -> Usage:
        """By our own count. A call last seen waiting for its slot is taken for one that was never sent."""
        return NOTHING if self._is_queued else replace(estimate(ask), output_tokens=self._output)


def _read(
    question: Question[Answer], completion: Completion, tried: Attempts
) -> Answered[Answer] | TooLarge | GivenUp | InvalidAnswer:
    """The finish first, then the text (D2)."""
    tried.usage += completion.usage
    tried.raw_output = completion.text
    tried.warnings += completion.warnings
    if completion.finish == "length":
        return TooLarge(silent=not completion.text.strip())
    if completion.finish == "filtered":
        return GivenUp(f"The provider's content filter stopped the answer. {_ANOTHER_MODEL}")
    try:
        return Answered(pass_key="", answer=question.read(completion.text))
    except InvalidAnswer as reason:
        return reason
