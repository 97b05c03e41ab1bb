"""The processes that stay: `up` is everything in one, `worker` and `scheduler` become the standard commands."""

import os
import signal
import sys
import threading
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

import actors
from base.errors import BadInput, Misconfigured
from base.settings import Settings, load
from base.terminal.example import command
from base.terminal.output import Output

#: `dramatiq` and `periodiq` import the package `actors` from here, wherever they are started.
_ROOT = Path(__file__).resolve().parent.parent


def register(app: typer.Typer) -> None:
    """Mount `up`, `worker` and `scheduler`."""
    app.command("up", cls=command("./longhaul up"))(up)
    app.command("worker", cls=command("./longhaul worker --lane enrichment --threads 8"))(worker)
    app.command("scheduler", cls=command("./longhaul scheduler"))(scheduler)


def up() -> None:
    """Run everything in this one process.

    The database, a worker of every lane, the tick. Needs nothing but Python. Ctrl-C or SIGTERM hands open
    jobs over, so that they resume, and ends.
    """
    from base import logs  # noqa: PLC0415
    from schema.accounts import default_account  # noqa: PLC0415
    from schema.migrate import require_current  # noqa: PLC0415
    from schema.opening import open_database  # noqa: PLC0415

    settings = load()
    if settings.broker_url is not None:
        raise Misconfigured(
            "`up` runs everything in this process and needs no broker, but LONGHAUL_BROKER_URL is set. "
            "Unset it, or start `./longhaul worker --lane LANE` for each lane and `./longhaul scheduler`."
        )
    logs.configure(settings.logging)
    output, ending = Output(), threading.Event()
    _set_on_signals(ending)
    with closing(open_database(settings)) as database:
        require_current(database)
        default_account(database)
        lanes = actors.lanes()
        with actors.running(settings, database, lanes, tick=True):
            _say_what_runs(output, settings, lanes)
            ending.wait()
            output.note("Ending: open jobs hand over. A second signal ends at once.")


def worker(
    lane: Annotated[str, typer.Option("--lane", metavar="LANE", help="The lane to work for; one a process.")],
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Jobs run at once; LONGHAUL_WORKER__THREADS if not given.")
    ] = None,
) -> None:
    """Work for one lane, on servers.

    Becomes `dramatiq actors --processes 1 --threads N -Q LANE`.
    """
    settings = _with_servers("worker")
    lanes = actors.lanes()
    if lane not in lanes:
        raise BadInput(f"There is no lane `{lane}`. Take one of: {', '.join(lanes)}.")
    number = str(threads or settings.worker.threads)
    _become("dramatiq", "actors", "--path", str(_ROOT), "--processes", "1", "--threads", number, "-Q", lane)


def scheduler() -> None:
    """Send the minute tick, on servers.

    It starts what is due. Becomes `periodiq actors`. One is enough; two do no harm.
    """
    settings = _with_servers("scheduler")
    from broker.probe import probe  # noqa: PLC0415

    # periodiq answers a broker that is away with a traceback.
    probe(settings, actors.lanes())
    _become("periodiq", "--path", str(_ROOT), "--", "actors")


def _with_servers(noun: str) -> Settings:
    """The settings, if they name the servers that processes of their own need to meet at."""
    settings = load()
    missing = [
        name
        for name, value in (
            ("LONGHAUL_DATABASE_URL", settings.database_url),
            ("LONGHAUL_BROKER_URL", settings.broker_url),
        )
        if value is None
    ]
    if missing:
        raise Misconfigured(
            f"A {noun} of its own needs {' and '.join(missing)}, which is not set: it would meet nobody. "
            "Set it, or run everything in one process with `./longhaul up`."
        )
    return settings


def _become(program: str, *arguments: str) -> None:
    """Replace this process, so that signals reach the program itself and nothing waits in between."""
    beside = Path(sys.executable).parent / program
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(beside, [str(beside), *arguments])  # noqa: S606  ours, with literal arguments


def _say_what_runs(output: Output, settings: Settings, lanes: tuple[str, ...]) -> None:
    database = "the server of LONGHAUL_DATABASE_URL" if settings.database_url else f"embedded, in {settings.home}"
    model = (
        f"{settings.llm.model} at {settings.llm.base_url}"
        if settings.llm.base_url
        else "offline (names from identifiers, meanings from references)"
    )
    output.facts(
        (
            ("database", database),
            ("broker", "in this process"),
            ("lanes", f"{', '.join(lanes)}; {settings.worker.threads} threads each"),
            ("tick", "every minute"),
            ("model", model),
        )
    )
    output.say("Running. Ctrl-C ends it; open jobs hand over and resume at the next start.")


def _set_on_signals(ending: threading.Event) -> None:
    """The first signal ends in good order; the next one meets the system's own way and ends at once."""

    def first(_number: int, _frame: FrameType | None) -> None:
        ending.set()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, first)
