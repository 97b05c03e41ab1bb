"""The end of a run as a table: E10, E23, D3, D16."""

import pytest

from actors.enrichment.answers import ChunkAnswer, MappingAnswer
from actors.enrichment.apply import Draft
from actors.enrichment.chunks import ChunkOutcome
from actors.enrichment.harvest import Harvest
from actors.enrichment.plan import OVERVIEW, Plan
from actors.enrichment.planner import Chunk
from actors.enrichment.questions import ModelLost
from actors.enrichment.verdict import Applied, Failed, Partial, verdict
from schema.enrichment.content import MappingContent

#: What was answered, failed, was stopped by the token limit, or lost the model; `-` was not planned.
CASES = [
    # overview   chunks                 draft  end
    ("answered", "answered", True, Applied()),
    ("answered", "answered failed", True, Partial()),
    ("failed", "answered", True, Partial()),
    ("-", "answered failed", True, Partial()),
    ("-", "answered refused", True, Partial()),
    ("answered", "answered stopped", True, Partial()),
    ("answered", "failed failed", True, "all_chunks_failed"),
    ("answered", "failed stopped", True, "all_chunks_failed"),
    ("answered", "refused", True, "model_refusing"),
    ("answered", "failed refused", True, "model_refusing"),
    ("refused", "unasked", False, "model_refusing"),
    ("answered", "stopped stopped", True, Partial()),
    ("failed", "stopped", False, "nothing_to_apply"),
    ("-", "stopped", False, "nothing_to_apply"),
    # Without chunks the overview stands for them, also where the user's own glossary gave a draft.
    ("answered", "", True, Applied()),
    ("answered", "", False, "nothing_to_apply"),
    ("failed", "", True, "all_chunks_failed"),
    ("refused", "", True, "model_refusing"),
    ("stopped", "", False, "nothing_to_apply"),
    ("-", "", True, Applied()),
    ("-", "", False, "nothing_to_apply"),
    # Answered with nothing that is of use.
    ("answered", "answered", False, "nothing_to_apply"),
    ("-", "answered refused", False, "model_refusing"),
]


def made_and_harvest(overview: str, chunks: list[str]) -> tuple[Plan, Harvest]:
    planned = tuple(Chunk(f"c{number}", ()) for number, _ in enumerate(chunks, 1))
    items = {OVERVIEW: overview} | {chunk.label: end for chunk, end in zip(planned, chunks, strict=True)}
    harvest = Harvest(
        overview=("key", MappingAnswer(name="Water")) if overview == "answered" else None,
        failures={label: "It failed." for label, end in items.items() if end in {"failed", "refused"}},
        chunks={
            chunk.id: ChunkOutcome(answers=[("key", ChunkAnswer())] if end == "answered" else [])
            for chunk, end in zip(planned, chunks, strict=True)
        },
        stopped=sum(end == "stopped" for end in items.values()),
        lost=ModelLost("No key.", reason="model_refusing") if "refused" in items.values() else None,
    )
    return Plan(overview != "-", planned, 0, ()), harvest


@pytest.mark.parametrize(("overview", "chunks", "has_draft", "expected"), CASES)
def test_how_a_run_ends(overview: str, chunks: str, has_draft: bool, expected: object) -> None:
    made, harvest = made_and_harvest(overview, chunks.split())
    draft = Draft(MappingContent(), {"endpoint_names": 1} if has_draft else {}, 0)
    end = verdict(made, harvest, draft)
    assert (end.reason if isinstance(end, Failed) else end) == expected


def test_a_failure_is_told_by_the_first_chunk_that_failed() -> None:
    made, harvest = made_and_harvest("failed", ["failed", "failed"])
    end = verdict(made, harvest, Draft(MappingContent(), {}, 0))
    assert isinstance(end, Failed)
    assert end.sentence == "Nothing was answered; all that was asked failed. It failed."
