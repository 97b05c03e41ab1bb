"""How a run reads on a terminal: before and after, what it counted and cost, what it warns of."""

from collections.abc import Callable, Sequence
from pathlib import Path

from actors.enrichment.commands.exits import was_applied
from actors.enrichment.definition.comparing import Change as DefinitionChange
from actors.enrichment.estimate import Estimate
from actors.enrichment.importing import Imported
from actors.enrichment.reading import RunView
from actors.enrichment.review import Change, Review
from base.terminal.output import Column, Output
from base.terminal.words import amount, count, plain, span
from schema.enrichment.payloads import TARGETS

#: Rows of before and after; opaque names first, then plan order.
ROWS = 20

_MOST_OF_A_CODE = 3
_MOST_CHANGES = 20
_LONGEST_BEFORE = 40
_COLUMNS = (
    Column("field", cut=True),
    Column("name before", cut=True, spare=2),
    Column("name after", cut=True),
    Column("description before", cut=True, spare=1),
    Column("description after", fold=True),
    Column("where", cut=True, spare=3),
)
_NONE, _KEPT, _ABSENT = "(no suggestion)", "(kept)", "-"


def show_import(output: Output, imported: Imported) -> None:
    """What a new version of a definition changed on its mapping (D15), and what the import warns of."""
    changes = imported.changes
    for word, found in (("added", changes.added), ("changed", changes.changed), ("gone", changes.gone)):
        for change in found[:_MOST_CHANGES]:
            output.note(f"{word:7}  {_what(change)}")
        if len(found) > _MOST_CHANGES:
            output.note(f"{word:7}  ... and {len(found) - _MOST_CHANGES} more: `--json` lists them all.")
    for warning in imported.warnings:
        output.note(f"warning  {warning.code}: {plain(warning.text)}")


def _what(change: DefinitionChange) -> str:
    """`GET /orders, query p_cst: type, description`."""
    method, path = change.operation.split("::")[:2]
    place, _, name = change.field.rpartition("|")
    field = f", {place.replace('|', ' ').strip()} {name}" if name else ""
    differs = f": {', '.join(change.differs)}" if change.differs else ""
    return plain(f"{method} {path}{field}{differs}")


def show_outcome(output: Output, run: RunView, review: Review) -> None:
    """Before and after, then the figures; what went wrong is no result."""
    if review.rows and run.state != "Failed":
        output.table(_COLUMNS, [_cells(row) for row in review.rows])
        more = review.total - len(review.rows)
        if more > 0:
            where = ", all in the files below" if was_applied(run) else ""
            output.say(f"... and {count(more)} more{where}. Cryptic names come first.")
        output.say()
    show_figures(output, run)
    show_reasons(output.note, run)


def show_figures(output: Output, run: RunView) -> None:
    """Counts, tokens, time."""
    output.facts(
        [
            ("run", f"{run.id}, {run.state}" + (f", {run.reason}" if run.reason else "")),
            ("model", run.model if run.model == run.provider else f"{run.model} at {run.provider}"),
            ("passes", passes(run)),
            ("suggestions", _suggestions(run)),
            ("left out", _without(run)),
            ("tokens", _tokens(run)),
            ("took", _took(run)),
        ]
    )


def show_reasons(tell: Callable[[str], None], run: RunView) -> None:
    """Why it failed, then its warnings; of many with one code the first few, and how many more there are."""
    if run.error:
        tell(plain(run.error))
    by_code: dict[str, list[str]] = {}
    for warning in run.warnings:
        by_code.setdefault(warning.code, []).append(plain(warning.text))
    for code, texts in by_code.items():
        for text in texts[:_MOST_OF_A_CODE]:
            tell(f"warning  {code}: {text}")
        if len(texts) > _MOST_OF_A_CODE:
            more = len(texts) - _MOST_OF_A_CODE
            tell(f"warning  {code}: ... and {more} more: `./longhaul runs show {run.id} --json`")


def show_files(output: Output, run: RunView, paths: Sequence[Path]) -> None:
    """The paths written, last, where a terminal leaves the eye."""
    if not was_applied(run):
        output.note("Nothing was applied; the mapping is as it was.")
    for path in paths:
        output.say(f"wrote    {path}" if was_applied(run) else f"wrote    {path}, as an earlier run made it")


def show_estimate(output: Output, estimate: Estimate) -> None:
    """What a run would do and cost (D16)."""
    output.facts(
        [
            ("operations", count(estimate.operations)),
            ("fields", f"{count(estimate.fields)} asked, {count(estimate.not_asked)} beyond the caps not asked"),
            ("passes", f"{count(estimate.passes)}, of which {amount(estimate.chunks, 'chunk')}"),
            ("tokens", f"about {count(estimate.input_tokens)} in, {count(estimate.output_tokens)} out"),
        ]
    )
    for warning in estimate.warnings:
        output.note(f"warning  {warning.code}: {plain(warning.text)}")


def _cells(row: Change) -> tuple[str, ...]:
    return (
        row.token,
        _cut(row.name_before),
        _after(row.name_before, row.name_after, nothing=_ABSENT if row.answered else _NONE),
        _cut(row.description_before),
        _after(row.description_before, row.description_after, nothing=_ABSENT),
        f"{row.endpoint}, {row.place}",
    )


def _cut(text: str | None) -> str:
    if not text:
        return _ABSENT
    short = plain(text)
    return short if len(short) <= _LONGEST_BEFORE else short[: _LONGEST_BEFORE - 3].rstrip() + "..."


def _after(before: str | None, after: str | None, *, nothing: str) -> str:
    """The new text; a text that stayed is not repeated."""
    if after is None or after == before:
        return _KEPT if before else nothing
    return after


def passes(run: RunView) -> str:
    """How many of its passes ended well, and how many badly."""
    failed = f", {run.failed_items} failed" if run.failed_items else ""
    return f"{run.completed_items} of {run.total_items}{failed}"


def _suggestions(run: RunView) -> str:
    written = [
        amount(run.counts[target], target.replace("_", " ").removesuffix("s"))
        for target in TARGETS
        if run.counts.get(target)
    ]
    unchanged = run.counts.get("unchanged", 0)
    as_before = f"; {count(unchanged)} as they were" if unchanged else ""
    return (", ".join(written) or "none") + as_before


def _without(run: RunView) -> str:
    """What got no answer, each kind by its reason; those the run did not come to are asked by the next."""
    kinds = {
        "unanswered": "unanswered",
        "failed": "in passes that failed",
        "stopped": "not asked because the run stopped",
        "not_asked": "beyond the caps, not asked",
    }
    found = [f"{count(run.counts[kind])} {words}" for kind, words in kinds.items() if run.counts.get(kind)]
    goes_on = "; the same command with --only-missing goes on" if was_applied(run) and found else ""
    return (", ".join(found) or "nothing") + goes_on


def _tokens(run: RunView) -> str:
    about = "about " if run.usage_estimated else ""
    return f"{about}{count(run.input_tokens)} in, {count(run.output_tokens)} out"


def _took(run: RunView) -> str:
    if run.started_at is None:
        return "-"
    return span((run.finished_at or run.seen_at) - run.started_at)
