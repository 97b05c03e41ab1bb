"""How a run ends, once its items have: the one place that decides whether anything is applied (E10, E23, D3, D16)."""

from dataclasses import dataclass

from actors.enrichment.apply import Draft
from actors.enrichment.harvest import Harvest
from actors.enrichment.plan import OVERVIEW, Plan

NOTHING_TO_APPLY = "nothing_to_apply"


@dataclass(frozen=True)
class Applied:
    """The draft is written; nothing that was planned is missing."""


@dataclass(frozen=True)
class Partial:
    """The draft is written; a warning tells of each thing that is missing."""


@dataclass(frozen=True)
class Failed:
    """Nothing is written: a literal reason, and one sentence for a person."""

    reason: str
    sentence: str


Verdict = Applied | Partial | Failed


def verdict(made: Plan, harvest: Harvest, draft: Draft) -> Verdict:
    """The end of a run.

    It fails where none of its chunks brought anything because they failed or the model was lost, whatever the overview
    or the user's own glossary say; where it has no chunks, the overview stands for them. It fails too where nothing is
    left to apply. What the token limit keeps from being asked is missing, not failed.
    """
    if not _brought_anything(made, harvest) and (cause := _cause(made, harvest)):
        return cause
    if not draft:
        return _lost(harvest) or Failed(NOTHING_TO_APPLY, _nothing(made, harvest))
    return Applied() if harvest.is_whole else Partial()


def _brought_anything(made: Plan, harvest: Harvest) -> bool:
    return harvest.answered() if made.chunks else harvest.overview is not None


def _cause(made: Plan, harvest: Harvest) -> Failed | None:
    """Why the items that count brought nothing; None where they did not fail."""
    if harvest.lost is not None:
        return _lost(harvest)
    counting = [label for label in harvest.failures if not made.chunks or label != OVERVIEW]
    if not counting:
        return None
    # No label before the reason: what to do stands at its end, and a job keeps so many characters only.
    why = harvest.failures[counting[0]]
    return Failed("all_chunks_failed", f"Nothing was answered; all that was asked failed. {why}")


def _lost(harvest: Harvest) -> Failed | None:
    return None if harvest.lost is None else Failed(harvest.lost.reason, str(harvest.lost))


def _nothing(made: Plan, harvest: Harvest) -> str:
    if harvest.stopped:
        return "The run's token limit was reached before anything was answered. Raise --max-tokens."
    if not made.items:
        return "There is nothing to ask: everything the targets name has a text already."
    return "Nothing is left to apply: the model suggested no usable text for the requested targets."
