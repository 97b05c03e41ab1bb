"""The watchdog: ends a process that can no longer do its work, so that whatever restarts it makes a new one.

A step that takes long is none of its business: the reaper knows those. It looks at what nobody else can see: threads
of the process that are dead, a loop that does not turn, a coroutine that was cancelled and does not end. Jobs come back
by the ordinary road, as after any other crash.
"""

import os
import sys
import threading
import traceback
from collections.abc import Iterator

from dramatiq import Broker, Worker

from base import logs
from broker.process import WorkerProcess
from middleware.resident import Resident

log = logs.get(__name__)

#: A loop that has not turned for this long is blocked: no beat of a run, no cancel reaches it.
LONGEST_LAG = 30.0

#: What an orchestrator sees; other than any of Dramatiq's.
EXIT_CODE = 70

_LOOK_SECONDS = 1.0


class Watchdog(Resident):
    """Looks once a second; what it saw twice in a row ends the process."""

    def __init__(self, process: WorkerProcess) -> None:
        super().__init__()
        self._process = process
        self._watched: list[Worker] = []
        self._ended = threading.Event()

    def start(self, broker: Broker) -> None:
        """Begin to look."""
        self._ended.clear()
        threading.Thread(target=self._run, name="watchdog", daemon=True).start()

    def close(self) -> None:
        """Look no more."""
        self._ended.set()
        self._watched.clear()

    def after_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Its threads are there now, and have to stay."""
        self._watched.append(worker)

    def faults(self) -> Iterator[str]:
        """What is beyond mending, a sentence each."""
        yield from self._dead_threads()
        process = self._process
        if (lag := process.loop.lag()) > LONGEST_LAG:
            yield f"The event loop has not turned for {lag:.0f} s: a step blocks it."
        grace = process.settings.worker.cancel_grace.total_seconds()
        for held in process.held.all():
            if held.resists_for() > grace:
                job = f"{held.claim.job_id} ({held.claim.task})"
                yield f"The job {job} was cancelled over {grace:g} s ago and has not ended."

    def _dead_threads(self) -> Iterator[str]:
        # An ending process lets its threads go, one after the other.
        if self._process.draining.is_set():
            return
        for worker in self._watched:
            for thread in (*worker.workers, *worker.consumers.values()):
                if not thread.is_alive():
                    yield f"A thread is dead: {type(thread).__name__} of the lanes {', '.join(worker.consumers)}."
        for name, lives in self._process.vital.items():
            if not lives():
                yield f"A thread is dead: {name}."

    def _run(self) -> None:
        before: set[str] = set()
        while not self._ended.wait(_LOOK_SECONDS):
            found = {_kind(fault): fault for fault in self.faults()}
            # A process that was stopped and goes on has not had its turn yet.
            for kind in found.keys() & before:
                end(found[kind])
            before = set(found)


def end(fault: str) -> None:
    """End the process at once, with the reason and where every thread is."""
    log.critical("the process ends itself", reason=fault, threads=_stacks())
    sys.stderr.flush()
    os._exit(EXIT_CODE)


def _kind(fault: str) -> str:
    """The fault without its figures, which grow."""
    return "".join(character for character in fault if not character.isdigit())


def _stacks() -> list[str]:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return [
        f"{names.get(ident, ident)}: {''.join(traceback.format_stack(frame, limit=None)[-3:])}"
        for ident, frame in sys._current_frames().items()  # noqa: SLF001  documented, and there is no other way
    ]
