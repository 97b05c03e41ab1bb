"""What a run tells its operator: every failure and every conflict, however many, and no reason twice (E23, D3, D14)."""

from actors.enrichment import report
from actors.enrichment.answers import ChunkAnswer, OperationAnswer
from actors.enrichment.chunks import ChunkOutcome
from actors.enrichment.harvest import Harvest, Missing
from actors.enrichment.merger import Renamed
from actors.enrichment.planner import Chunk
from actors.enrichment.questions import ModelLost
from actors.enrichment.verdict import Applied, Failed, Partial
from tests.enrichment.making import asked, operation

NOTHING = Missing(0, 0)
LOST = ModelLost("The host refuses the key.", reason="model_refusing")


def test_every_failure_and_every_conflict_is_told() -> None:
    harvest = Harvest(failures={f"chunk {number}": "It failed." for number in range(50)})
    renamed = [Renamed(f"t{number}", "This", ("That",)) for number in range(50)]
    told = report.warnings(harvest, NOTHING, Applied(), renamed, ())
    assert [one.code for one in told] == ["item_failed"] * 50 + ["one_name_for_one_thing"] * 50
    assert told[49].text == "chunk 49: It failed."
    assert told[99].text.startswith("`t49`")


def test_why_the_model_was_lost_is_told_once_with_what_was_not_asked() -> None:
    failures = {"chunk 1: GET /a": "It failed.", "chunk 2: GET /b": str(LOST), "chunk 3: GET /c": str(LOST)}
    first, second = report.warnings(Harvest(failures=failures, lost=LOST), Missing(6, 30), Partial(), (), ())
    assert (first.code, first.text) == ("item_failed", "chunk 1: GET /a: It failed.")
    assert second.code == "model_refusing"
    assert second.text == (
        "chunk 2, chunk 3: The host refuses the key. Not asked after that: 30 of the endpoints and fields. "
        "--only-missing goes on with the rest."
    )


def test_what_the_error_of_a_failed_run_says_is_no_warning_too() -> None:
    harvest = Harvest(failures={"chunk 1": str(LOST)}, lost=LOST)
    assert report.warnings(harvest, NOTHING, Failed("model_refusing", str(LOST)), (), ()) == ()
    harvest = Harvest(failures={"chunk 1": "It failed.", "chunk 2": "It was cut."})
    [other] = report.warnings(harvest, NOTHING, Failed("all_chunks_failed", "Nothing. It failed."), (), ())
    assert other.text == "chunk 2: It was cut."


def test_what_is_missing_was_asked_and_failed_or_was_never_asked() -> None:
    planned = tuple(Chunk(f"c{number}", (asked(operation(f"/p{number}"), name=True),)) for number in range(1, 5))
    answer = ChunkAnswer(operations={planned[0].operations[0].operation.key: OperationAnswer(named=True, name="One")})
    harvest = Harvest(
        failures={planned[1].label: "It failed."},
        chunks={
            "c1": ChunkOutcome(answers=[("key", answer)]),
            "c2": ChunkOutcome(failures=["It failed."]),
            "c3": ChunkOutcome(answers=[("key", ChunkAnswer())], unanswered=1),
            "c4": ChunkOutcome(),
        },
    )
    assert harvest.missing(planned) == Missing(failed=1, stopped=1)
