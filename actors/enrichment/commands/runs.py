"""`runs`: enrichment runs, what they did and what they cost; and how one is stopped."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from base.clock import now
from base.settings import load
from base.terminal.example import command, group
from base.terminal.exits import Exit
from base.terminal.identifiers import Before, RunId
from base.terminal.output import STATE_STYLES, Column, Json, Output
from base.terminal.person import person
from base.terminal.words import ago, count, span

if TYPE_CHECKING:
    from actors.enrichment.reading import PassView, RunView


class State(StrEnum):
    """What a run can be (E1)."""

    REQUESTED = "Requested"
    PROCESSING = "Processing"
    COMPLETED = "Completed"
    CANCELED = "Canceled"
    FAILED = "Failed"


def register(app: typer.Typer) -> None:
    """Mount `runs list`, `runs show`, `runs export` and `runs cancel`."""
    runs = typer.Typer(cls=group("./longhaul runs list"), help="Look at enrichment runs, or stop one.")
    runs.command("list", cls=command("./longhaul runs list --state Failed"))(list_runs)
    runs.command("show", cls=command("./longhaul runs show 019a8e2c-61f4-7000-8000-3f5c0a9d1b22"))(show)
    runs.command("export", cls=command("./longhaul runs export 019a8e2c-61f4-7000-8000-3f5c0a9d1b22"))(export)
    runs.command("cancel", cls=command("./longhaul runs cancel 019a8e2c-61f4-7000-8000-3f5c0a9d1b22"))(cancel)
    app.add_typer(runs, name="runs")


def list_runs(
    *,
    state: Annotated[
        list[State] | None, typer.Option("--state", case_sensitive=False, help="Only this state; repeatable.")
    ] = None,
    mapping: Annotated[
        str | None, typer.Option("--mapping", metavar="ID|NAME", help="Only runs of this mapping.")
    ] = None,
    before: Before = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Most runs shown.")] = 50,
    as_json: Json = False,
) -> None:
    """List runs, the newest first."""
    from actors.enrichment.importing import find_mapping  # noqa: PLC0415
    from actors.enrichment.reading import list_runs as read  # noqa: PLC0415
    from schema.opening import opened_account  # noqa: PLC0415

    output = Output(as_json=as_json)
    with opened_account(load()) as (database, account_id):
        mapping_id = find_mapping(database, account_id, mapping) if mapping else None
        states = [one.value for one in state or ()]
        runs = read(database, account_id, states=states, mapping=mapping_id, before=before, limit=limit)
    more = runs[-1].id if len(runs) == limit else None
    output.result({"runs": runs, "before": more})
    if not runs:
        output.note("No such runs. `./longhaul enrich FILE` makes the first one.")
        return
    output.table(_COLUMNS, [_cells(run) for run in runs])
    if more is not None:
        output.note(f"There may be more: add --before {more}")


def show(run_id: RunId, as_json: Json = False) -> None:
    """Show one run: state, cost, passes, warnings."""
    from actors.enrichment.commands import showing  # noqa: PLC0415
    from actors.enrichment.reading import read_passes, read_run, read_wishes  # noqa: PLC0415
    from schema.opening import opened_account  # noqa: PLC0415

    output = Output(as_json=as_json)
    with opened_account(load()) as (database, account_id):
        run = read_run(database, account_id, run_id)
        passes = read_passes(database, account_id, run_id)
        asked = read_wishes(database, account_id, run)
    output.result({"run": run, "asked": asked, "passes": passes})
    showing.show_figures(output, run)
    showing.show_reasons(output.say, run)
    if asked:
        output.say()
        output.facts([(option, value) for option, value in asked.items()])
    if passes:
        output.say()
        output.table(_PASS_COLUMNS, [_pass_cells(one) for one in passes])


def export(
    run_id: RunId,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder to write to; `longhaul-out/ID` if not given.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the files of a finished run again; nothing is asked, nothing is paid."""
    from actors.enrichment.export import export as write  # noqa: PLC0415
    from schema.opening import opened_account  # noqa: PLC0415

    output = Output(as_json=as_json)
    with opened_account(load()) as (database, account_id):
        written = write(database, account_id, run_id, out or Path("longhaul-out", str(run_id)))
    output.result({"run": run_id, "files": written.paths, "warnings": written.warnings})
    for warning in written.warnings:
        output.note(f"{warning.code}: {warning.text}")
    for path in written.paths:
        output.say(f"wrote {path}")


def cancel(run_id: RunId, as_json: Json = False) -> None:
    """Stop a run; its mapping is as it was before.

    Answers `accepted`, or `already_ended` and leaves with 1. An accepted cancel is final.
    """
    import actors  # noqa: PLC0415
    from actors.enrichment.reading import read_run  # noqa: PLC0415
    from broker.canceling import cancel as end  # noqa: PLC0415
    from schema.opening import opened_account  # noqa: PLC0415

    output, settings = Output(as_json=as_json), load()
    with opened_account(settings) as (database, account_id):
        run = read_run(database, account_id, run_id)
        with actors.announcing(settings, database):
            answer = end(database, account_id, run.job_id, by=person())
    output.result({"run": run_id, "answer": answer})
    if answer == "accepted":
        output.say(f"Canceled run {run_id}; its mapping is as it was.")
        return
    output.say(f"Run {run_id} has already ended: {run.state}. Nothing was changed.")
    raise typer.Exit(Exit.FAILED)


_COLUMNS = (
    Column("run"),
    Column("state", styles=STATE_STYLES),
    Column("reason", cut=True, spare=2),
    Column("mapping", cut=True),
    Column("model", cut=True, spare=3),
    Column("passes", right=True, spare=1),
    Column("tokens", right=True, spare=4),
    Column("created", right=True),
)


def _cells(run: "RunView") -> tuple[str, ...]:
    from actors.enrichment.commands import showing  # noqa: PLC0415

    return (
        str(run.id),
        run.state,
        "resuming" if run.resuming else run.reason or "",
        run.mapping_name,
        run.model,
        showing.passes(run),
        count(run.total_tokens),
        ago(run.created_at, now()),
    )


_PASS_COLUMNS = (
    Column("pass"),
    Column("status", styles=STATE_STYLES),
    Column("retries", right=True),
    Column("tokens in", right=True),
    Column("out", right=True),
    Column("took", right=True),
    Column("error", fold=True),
)


def _pass_cells(one: "PassView") -> tuple[str, ...]:
    return (
        f"{one.kind} {one.chunk_id}" if one.chunk_id else one.kind,
        one.status,
        str(one.retries),
        count(one.input_tokens),
        count(one.output_tokens),
        span(one.finished_at - one.started_at) if one.started_at is not None else "-",
        one.error or "",
    )
