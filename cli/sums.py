"""`doctor`'s sums: the times that have to fit one another, and what RabbitMQ allows."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING

import actors
from base.errors import Misconfigured
from base.settings import Settings
from base.terminal.words import span
from cli.checks import Finding, State

if TYPE_CHECKING:
    from broker.ack_timeout import Known
    from schema.engine import Database

_LOOK_BACK = timedelta(days=30)


def sums(settings: Settings) -> Iterator[Finding]:
    """Add up what one pass may take, what a run took, and after which time who takes it away."""
    from ledger.durations import longest  # noqa: PLC0415
    from schema.engine import DatabaseAway  # noqa: PLC0415
    from schema.opening import open_database  # noqa: PLC0415
    from schema.probe import probe  # noqa: PLC0415

    recovery = settings.enrichment_run_recovery
    yield Finding(
        "times",
        State.OK,
        f"A worker's silence is taken for its end after {span(recovery.stale_run_threshold)}, a run without a finished "
        f"pass for hung after {span(recovery.progress_stall_threshold)}; both are looked for every "
        f"{span(recovery.reaper_interval)}.",
    )
    try:
        with closing(open_database(settings)) as database:
            server = probe(database)
            if not server.revision or server.mismatch:
                return
            run = longest(database, _LOOK_BACK)
            known = _known(settings, database)
    except (Misconfigured, DatabaseAway):
        return  # said already, of the database
    longest_run = f"the longest run of {_LOOK_BACK.days} days took {span(run)}" if run else "no run has ended lately"
    yield Finding("times", State.OK, f"The slowest pass may take {span(settings.slowest_pass)}; {longest_run}.")
    if settings.broker_url is not None:
        yield _ack_timeout(settings, known, run or timedelta(0))


def _known(settings: Settings, database: "Database") -> "Known | None":
    from broker import ack_timeout  # noqa: PLC0415

    return ack_timeout.find(settings, database, actors.lanes()) if settings.broker_url else None


def _ack_timeout(settings: Settings, known: "Known | None", run: timedelta) -> Finding:
    from broker.ack_timeout import AckTimeout, differs, refuse_short  # noqa: PLC0415

    try:
        refuse_short(settings, known)
    except Misconfigured as error:
        return Finding("ack timeout", State.WRONG, str(error))
    counting = AckTimeout(settings.broker, known.value if known else None)
    if known is not None and (sentence := differs(settings, known)):
        return Finding("ack timeout", State.WARNING, sentence)
    at_rabbitmq = f"{span(known.value)} at RabbitMQ" if known else "RabbitMQ's own can't be read here"
    words = f"{span(settings.broker.ack_timeout)} set, {at_rabbitmq}; runs hand over after {span(counting.keep_for)}"
    if run > counting.keep_for:
        return Finding("ack timeout", State.WARNING, f"{words}, and one took {span(run)}. Raise both above it.")
    return Finding("ack timeout", State.OK, f"{words}.")
