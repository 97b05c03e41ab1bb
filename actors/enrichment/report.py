"""What a run tells its operator beside its texts: counts, and a warning for whatever is not as it could be (E23)."""

from collections.abc import Iterator, Mapping, Sequence

from actors.enrichment.answers import ChunkAnswer
from actors.enrichment.execution import Harvest
from actors.enrichment.merger import Renamed
from actors.enrichment.plan import Plan
from clients.llm.model import PROMPT_TRUNCATED
from schema.enrichment.payloads import RunWarning, Target

#: Sentences for the codes a model's client warns with.
_MODEL_WARNINGS = {
    PROMPT_TRUNCATED: "The server counted far fewer tokens than the prompt has: it probably cuts prompts at its own "
    "context size. Raise that size (Ollama: num_ctx) or lower "
    "LONGHAUL_SEMANTIC_ENRICHMENT__MAX_PROMPT_CHARACTERS.",
}


def warnings(harvest: Harvest, renamed: Sequence[Renamed], model_warnings: Sequence[str]) -> tuple[RunWarning, ...]:
    """What the items of a run gave reason to say."""
    return tuple(
        RunWarning(code=code, text=text)
        for code, text in (*_failed(harvest), *_cut_short(harvest), *_left_out(harvest), *_renamed(renamed))
    ) + tuple(
        RunWarning(code=code, text=_MODEL_WARNINGS.get(code, f"The model's client says: {code}."))
        for code in model_warnings
    )


def counts(applied: Mapping[Target, int], unchanged: int, harvest: Harvest, plan: Plan) -> dict[str, int]:
    """Texts applied by target, how many of these stood there already, and what was not asked or not answered; zeros are
    left out.
    """
    found: dict[str, int] = dict(applied.items())
    found |= {"unchanged": unchanged, "not_asked": plan.not_asked, "unanswered": harvest.unanswered}
    return {name: number for name, number in found.items() if number}


def _failed(harvest: Harvest) -> Iterator[tuple[str, str]]:
    for label, why in harvest.failures.items():
        yield "item_failed", f"{label}: {why}"


def _cut_short(harvest: Harvest) -> Iterator[tuple[str, str]]:
    if harvest.stopped:
        items = f"{harvest.stopped} items were not asked to their end"
        yield "token_limit_reached", f"The token limit was reached: {items}. --only-missing goes on there."
    if harvest.refusal is not None:
        yield "model_refusing", f"The model stopped answering during the run: {harvest.refusal}"


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
