"""`jobs`: the ledger's rows, to look at; and how one is stopped."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from base.clock import now
from base.settings import load
from base.terminal.example import command, group
from base.terminal.exits import Exit
from base.terminal.identifiers import Before, JobId
from base.terminal.output import STATE_STYLES, Column, Json, Output
from base.terminal.person import person
from base.terminal.words import ago, amount, local

if TYPE_CHECKING:
    from ledger.reading import AttemptRow, JobDetail, JobRow


class State(StrEnum):
    """What a job can be."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELED = "canceled"


def register(app: typer.Typer) -> None:
    """Mount `jobs list`, `jobs show` and `jobs cancel`."""
    jobs = typer.Typer(cls=group("./longhaul jobs list --state failed"), help="Look at the ledger's jobs, or stop one.")
    jobs.command("list", cls=command("./longhaul jobs list --state failed --lane enrichment"))(list_jobs)
    jobs.command("show", cls=command("./longhaul jobs show 019a8e2c-61f4-7000-8000-3f5c0a9d1b22"))(show_job)
    jobs.command("cancel", cls=command("./longhaul jobs cancel 019a8e2c-61f4-7000-8000-3f5c0a9d1b22"))(cancel)
    app.add_typer(jobs, name="jobs")


def list_jobs(
    *,
    state: Annotated[list[State] | None, typer.Option("--state", help="Only this state; repeatable.")] = None,
    lane: Annotated[
        list[str] | None, typer.Option("--lane", metavar="LANE", help="Only this lane; repeatable.")
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option("--task", metavar="TASK", help="Only this task; repeatable.")
    ] = None,
    key: Annotated[str | None, typer.Option("--key", metavar="KEY", help="Only jobs of this key.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", metavar="CODE", help="Only jobs with this reason.")] = None,
    before: Before = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Most jobs shown.")] = 50,
    as_json: Json = False,
) -> None:
    """List jobs, the newest first."""
    from ledger.reading import list_jobs as read  # noqa: PLC0415
    from schema.opening import opened_account  # noqa: PLC0415

    output = Output(as_json=as_json)
    with opened_account(load()) as (database, account_id):
        rows = read(
            database,
            account_id,
            states=[one.value for one in state or ()],
            lanes=lane or (),
            tasks=task or (),
            key=key,
            reason=reason,
            before=before,
            limit=limit,
        )
    more = rows[-1].id if len(rows) == limit else None
    output.result({"jobs": rows, "before": more})
    if not rows:
        output.note("No such jobs. `./longhaul enrich FILE` makes the first one.")
        return
    output.table(_COLUMNS, [_cells(row) for row in rows])
    if more is not None:
        output.note(f"There may be more: add --before {more}")


def show_job(
    job_id: JobId,
    as_json: Json = False,
) -> None:
    """Show one job: what it is, why it waits, what became of its attempts."""
    from ledger.reading import show_job as read  # noqa: PLC0415
    from schema.opening import opened_account  # noqa: PLC0415

    output = Output(as_json=as_json)
    with opened_account(load()) as (database, account_id):
        detail = read(database, account_id, job_id)
    output.result(detail)
    _say(output, detail)


def cancel(
    job_id: JobId,
    as_json: Json = False,
) -> None:
    """Stop a job, waiting or running, whatever it belongs to.

    Answers `accepted`, or `already_ended` and leaves with 1. An accepted cancel is final.
    """
    import actors  # noqa: PLC0415
    from broker.canceling import cancel as end  # noqa: PLC0415
    from schema.opening import opened_account  # noqa: PLC0415

    output, settings = Output(as_json=as_json), load()
    with opened_account(settings) as (database, account_id), actors.announcing(settings, database):
        answer = end(database, account_id, job_id, by=person())
    output.result({"job": job_id, "answer": answer})
    if answer == "accepted":
        output.say(f"Canceled job {job_id}.")
        return
    output.say(f"Job {job_id} has already ended. Nothing was changed.")
    raise typer.Exit(Exit.FAILED)


_COLUMNS = (
    Column("job"),
    Column("state", styles=STATE_STYLES),
    Column("reason", cut=True, spare=1),
    Column("task", cut=True),
    Column("lane", cut=True, spare=4),
    Column("items", right=True, spare=2),
    Column("attempts", right=True, spare=5),
    Column("created", right=True),
    Column("error", fold=True, spare=3),
)


def _cells(job: "JobRow") -> tuple[str, ...]:
    return (
        str(job.id),
        job.state,
        job.reason or "",
        job.task,
        job.lane,
        _items(job),
        str(job.attempts),
        ago(job.created_at, now()),
        job.error or "",
    )


def _items(job: "JobRow") -> str:
    if job.total_items is None:
        return "" if not job.done_items else str(job.done_items)
    return f"{job.done_items}/{job.total_items}"


def _say(output: Output, detail: "JobDetail") -> None:
    job = detail.job
    if detail.waiting:
        output.say(f"{detail.waiting}\n")
    output.facts(
        [
            ("job", str(job.id)),
            ("state", f"{job.state}, {job.reason}" if job.reason else job.state),
            ("task", f"{job.task}, lane {job.lane}, priority {job.priority}"),
            ("key", job.key or "-"),
            ("items", _items(job) or "-"),
            ("attempts", f"{job.attempts}, recoveries {job.recoveries}"),
            ("created", local(job.created_at)),
            ("due", local(job.due_at)),
            ("started", local(job.started_at)),
            ("progress", ago(job.progress_at, now())),
            ("worker", _worker(job)),
            ("finished", local(job.finished_at)),
            ("error", job.error or "-"),
            ("payload", amount(detail.payload_bytes, "byte")),
        ]
    )
    if detail.attempts:
        output.say()
        output.table(_ATTEMPT_COLUMNS, [_attempt_cells(attempt) for attempt in detail.attempts])


_ATTEMPT_COLUMNS = (
    Column("attempt", right=True),
    Column("began"),
    Column("ended"),
    Column("outcome"),
    Column("reason"),
    Column("error", fold=True),
)


def _attempt_cells(attempt: "AttemptRow") -> tuple[str, ...]:
    return (
        str(attempt.attempt),
        local(attempt.started_at),
        local(attempt.ended_at),
        attempt.outcome,
        attempt.reason or "",
        attempt.error or "",
    )


def _worker(job: "JobRow") -> str:
    return "-" if job.worker_id is None else f"{job.worker_id} on {job.host or '?'}, beat {ago(job.beat_at, now())}"
