"""Following a run until it ends: a worker in this process does it, or the workers of its lane on servers."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import actors
from actors.enrichment.commands.interrupting import Interruption
from actors.enrichment.reading import RunView, read_run
from base.clock import monotonic
from base.errors import Transient
from base.settings import Settings, load
from base.terminal.output import Output
from base.terminal.progress import Bar, bar
from base.terminal.words import amount, span
from ledger.workers import lanes_alive
from schema.away import DatabaseRefuses
from schema.engine import Database

_SECONDS_BETWEEN_LOOKS = 0.4

#: A lane without a worker for this long is worth a word.
_PATIENCE = timedelta(seconds=10)

#: A worker that has not beaten for this long is not counted as alive.
_ALIVE_WITHIN = timedelta(minutes=2)


@dataclass(frozen=True)
class Run:
    """What is followed, and where."""

    database: Database
    account_id: UUID
    run_id: UUID
    lane: str

    def look(self) -> RunView:
        """How the run is doing now."""
        return read_run(self.database, self.account_id, self.run_id)

    def is_served(self) -> bool:
        """Whether a worker of its lane is alive."""
        return lanes_alive(self.database, self.lane, _ALIVE_WITHIN) > 0


def follow(run: Run, settings: Settings, output: Output, interruption: Interruption) -> RunView:
    """Show the run's progress until it ends or somebody interrupts; answers its last state.

    Without a broker a worker runs in this process meanwhile, and an interruption makes it hand over (E38);
    with one the run stays with the workers.
    """
    if settings.broker_url is not None:
        absence = _Absence(run, output)
        with bar("enriching") as shown:
            return _watch(run, shown, interruption, absence.notice)
    with actors.running(settings, run.database, (run.lane,)) as worker:
        with bar("enriching") as shown:
            seen = _watch(run, shown, interruption)
        if seen.open and interruption.asked:
            worker.ask_handover()
            output.note("Handing over what runs here: the pass in flight may finish. Ctrl-C again ends at once.")
            worker.idle(settings.worker.drain_grace.total_seconds() + 5)
    return run.look()


def _watch(
    run: Run, shown: Bar, interruption: Interruption, notice: Callable[[RunView], None] = lambda _: None
) -> RunView:
    """Look twice a second. A database that is away for a while is waited for, as the workers do."""
    seen = run.look()
    while True:
        shown.update(seen.processed_items, seen.total_items, _words(seen))
        if not seen.open or interruption.wait(_SECONDS_BETWEEN_LOOKS):
            return seen
        try:
            seen = run.look()
            notice(seen)
        except DatabaseRefuses:
            raise  # waiting lets nobody in
        except Transient:
            shown.update(seen.processed_items, seen.total_items, "the database is away; waiting for it")


def _words(run: RunView) -> str:
    tokens = amount(run.total_tokens, "token")
    parts = [f"about {tokens}" if run.usage_estimated else tokens]
    if run.failed_items:
        parts.append(f"{run.failed_items} failed")
    if run.resuming:
        parts.append("resuming")
    elif run.state == "Requested":
        parts.append("waiting for a worker")
    elif run.heartbeat_at is not None and run.seen_at - run.heartbeat_at > _silence():
        parts.append(f"its worker has been silent for {span(run.seen_at - run.heartbeat_at)}")
    if run.current:
        parts.append(run.current)
    return ", ".join(parts)


def _silence() -> timedelta:
    """Two beats missed: the worker may be gone, which is told before its run is taken back."""
    return 2 * load().beat_interval


class _Absence:
    """Says once, and again after workers came and went, that nobody works for the run's lane."""

    def __init__(self, run: Run, output: Output) -> None:
        self._run, self._output = run, output
        self._since = monotonic()
        self._said = False

    def notice(self, seen: RunView) -> None:
        """Count the time without a worker; a run that is being worked on has one."""
        worked_on = seen.state == "Processing" and not seen.resuming
        if worked_on or self._run.is_served():
            self._since, self._said = monotonic(), False
        elif not self._said and monotonic() - self._since >= _PATIENCE.total_seconds():
            self._said = True
            self._output.note(
                f"No worker of the lane `{self._run.lane}` for {_PATIENCE.total_seconds():g} s: the run waits. "
                f"Start one with `./longhaul worker --lane {self._run.lane}`. Ctrl-C leaves the run open."
            )
