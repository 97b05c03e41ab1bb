"""What a run tells its operator beside its texts: counts, and a warning for whatever is not as it could be (E23)."""

from collections.abc import Iterator, Mapping, Sequence

from actors.enrichment.answers import ChunkAnswer
from actors.enrichment.harvest import Harvest, Missing
from actors.enrichment.merger import Renamed
from actors.enrichment.plan import Plan
from actors.enrichment.verdict import Failed, Verdict
from base.terminal.words import count
from clients.llm.model import PROMPT_TRUNCATED
from schema.enrichment.payloads import RunWarning, Target

#: Sentences for the codes a model's client warns with.
_MODEL_WARNINGS = {
    PROMPT_TRUNCATED: "The server counted far fewer tokens than the prompt has: it probably cuts prompts at its own "
    "context size. Raise that size (Ollama: num_ctx) or lower "
    "LONGHAUL_SEMANTIC_ENRICHMENT__MAX_PROMPT_CHARACTERS.",
}


def warnings(
    harvest: Harvest, missing: Missing, end: Verdict, renamed: Sequence[Renamed], model_warnings: Sequence[str]
) -> tuple[RunWarning, ...]:
    """What the items of a run gave reason to say, beside what the error of a failed run says already."""
    error = end.sentence if isinstance(end, Failed) else ""
    return tuple(
        RunWarning(code=code, text=text)
        for code, text in (
            *_failed(harvest, error),
            *_lost(harvest, missing, error),
            *_limited(harvest, missing, error),
            *_left_out(harvest),
            *_renamed(renamed),
        )
    ) + tuple(
        RunWarning(code=code, text=_MODEL_WARNINGS.get(code, f"The model's client says: {code}."))
        for code in model_warnings
    )


def counts(
    applied: Mapping[Target, int], unchanged: int, harvest: Harvest, missing: Missing, plan: Plan
) -> dict[str, int]:
    """Texts applied by target, how many of these stood there already, and what has none: beyond the caps, twice not
    answered, failed, or not asked because the run stopped; zeros are left out.
    """
    found: dict[str, int] = dict(applied.items())
    found |= {"unchanged": unchanged, "not_asked": plan.not_asked, "unanswered": harvest.unanswered}
    found |= {"failed": missing.failed, "stopped": missing.stopped}
    return {name: number for name, number in found.items() if number}


def _failed(harvest: Harvest, error: str) -> Iterator[tuple[str, str]]:
    """One for each item that failed, but for the reason that is told anyway."""
    lost = str(harvest.lost or "")
    for label, why in harvest.failures.items():
        if why != lost and not (error and why in error):
            yield "item_failed", f"{label}: {why}"


def _lost(harvest: Harvest, missing: Missing, error: str) -> Iterator[tuple[str, str]]:
    """The reason once, whatever number of items failed for it."""
    if harvest.lost is None or str(harvest.lost) in error:
        return
    failed = [label.partition(":")[0] for label, why in harvest.failures.items() if why == str(harvest.lost)]
    rest = f"Not asked after that: {_things(missing)}. " if missing.stopped else ""
    yield harvest.lost.reason, f"{', '.join(failed)}: {harvest.lost} {rest}--only-missing goes on with the rest."


def _limited(harvest: Harvest, missing: Missing, error: str) -> Iterator[tuple[str, str]]:
    if harvest.stopped and "--max-tokens" not in error:
        left = _things(missing) if missing.stopped else "the mapping itself"
        yield "token_limit_reached", f"The token limit was reached. Not asked: {left}. --only-missing goes on there."


def _things(missing: Missing) -> str:
    return f"{count(missing.stopped)} of the endpoints and fields"


def _left_out(harvest: Harvest) -> Iterator[tuple[str, str]]:
    if harvest.unanswered:
        yield "unanswered", f"The model left {harvest.unanswered} things unanswered that it was asked for twice."
    dropped = sum(answer.dropped for answer in _answers(harvest))
    if dropped:
        yield "names_dropped", f"{dropped} names said no more than their identifiers and were dropped."
    unasked = sum(answer.unasked for answer in _answers(harvest))
    if unasked:
        yield "answers_dropped", f"{unasked} answers were for things the model was not asked, and were dropped."


def _renamed(renamed: Sequence[Renamed]) -> Iterator[tuple[str, str]]:
    for one in renamed:
        others = ", ".join(f"“{name}”" for name in one.others)
        yield "one_name_for_one_thing", f"`{one.token}` is named “{one.name}” everywhere; also suggested: {others}."


def _answers(harvest: Harvest) -> Iterator[ChunkAnswer]:
    for chunk in harvest.chunks.values():
        for _, answer in chunk.answers:
            yield answer
