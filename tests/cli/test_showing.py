"""How a run's end reads: the exit code it is, and warnings that don't drown the rest."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from actors.enrichment.commands.exits import exit_of, was_applied
from actors.enrichment.commands.showing import show_figures, show_outcome, show_reasons
from actors.enrichment.reading import RunView
from actors.enrichment.review import Change, Review
from base.terminal.exits import Exit
from base.terminal.output import Output
from schema.enrichment.payloads import RunWarning
from schema.enrichment.run_views import State

_THEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def _run(
    state: State = "Completed",
    reason: str | None = None,
    error: str | None = None,
    warnings: tuple[RunWarning, ...] = (),
) -> RunView:
    return RunView(
        id=UUID(int=1),
        mapping_id=UUID(int=2),
        mapping_name="Orders",
        job_id=UUID(int=3),
        state=state,
        resuming=False,
        open=state in {"Requested", "Processing"},
        reason=reason,
        error=error,
        provider="llm.example",
        model="scripted",
        targets=("mapping_name",),
        total_items=4,
        processed_items=4,
        failed_items=1,
        completed_items=3,
        input_tokens=12_000,
        output_tokens=480,
        total_tokens=12_480,
        usage_estimated=True,
        counts={"mapping_name": 1, "unanswered": 2, "not_asked": 0},
        warnings=warnings,
        current="",
        created_at=_THEN,
        started_at=_THEN,
        finished_at=_THEN.replace(minute=8, second=15),
        heartbeat_at=None,
        progress_at=None,
        seen_at=_THEN,
    )


@pytest.mark.parametrize(
    ("run", "code"),
    [
        (_run(), Exit.DONE),
        (_run(reason="partial"), Exit.PARTIAL),
        (_run(reason="token_limit"), Exit.PARTIAL),
        (_run("Failed", "nothing_to_apply"), Exit.FAILED),
        (_run("Failed", "model_refusing"), Exit.FAILED),
        (_run("Canceled", "canceled_by_operator"), Exit.CANCELED),
    ],
)
def test_each_end_has_its_exit_code_and_only_success_applies(run: RunView, code: Exit) -> None:
    assert exit_of(run) is code
    assert was_applied(run) is (code in {Exit.DONE, Exit.PARTIAL})


def test_the_figures_are_counts_tokens_and_time(capsys: pytest.CaptureFixture[str]) -> None:
    show_figures(Output(), _run(reason="partial"))
    said = capsys.readouterr().out
    assert "Completed, partial" in said
    assert "scripted at llm.example" in said
    assert "3 of 4, 1 failed" in said
    assert "1 mapping name" in said
    assert "2 unanswered; the same command with --only-missing goes on" in said
    assert "about 12,000 in, 480 out" in said
    assert "4 m 10 s" in said


def test_many_warnings_of_one_kind_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    many = tuple(RunWarning(code="chunk_failed", text=f"Chunk {n} failed.\x1b[2J") for n in range(9))
    show_reasons(Output().note, _run(warnings=(*many, RunWarning(code="reference_truncated", text="Cut."))))
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning")]
    assert lines[0] == "warning  chunk_failed: Chunk 0 failed.[2J"
    assert "and 6 more" in lines[3]
    assert lines[4] == "warning  reference_truncated: Cut."
    assert len(lines) == 5


def test_what_went_wrong_is_said_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    show_reasons(Output().note, _run("Failed", "context_lost", "The mapping is gone. Import it again."))
    assert "The mapping is gone. Import it again." in capsys.readouterr().err


def test_what_stayed_as_it_was_is_not_shown_as_new(capsys: pytest.CaptureFixture[str]) -> None:
    rows = (
        Change("GET /orders", "query", "cstNo", "Customer Number", "Customer Number", None, "Who ordered."),
        Change("GET /orders", "query", "totAmt", "Total Amount", None, "What it costs.", None),
        Change("GET /orders", "query", "xyz", None, None, None, None),
    )
    show_outcome(Output(), _run(), Review(rows, 3, 1))
    same, existing, nothing = capsys.readouterr().out.splitlines()[1:4]
    assert same.count("Customer Number") == 1
    assert "(kept)" in same
    assert existing.count("(kept)") == 2
    assert "(no suggestion)" not in existing
    assert "(no suggestion)" in nothing


def test_a_failed_run_shows_why_and_no_table_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    rows = (Change("GET /orders", "query", "xyz", None, None, None, None),)
    show_outcome(Output(), _run("Failed", "model_refusing", "The key is refused. Set another."), Review(rows, 1, 1))
    said = capsys.readouterr()
    assert "(no suggestion)" not in said.out
    assert "The key is refused." in said.err
