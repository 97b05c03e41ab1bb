"""Before `dramatiq actors` works: is this process what it has to be, and are its servers? Else it does not start.

A refusal is one sentence on stderr and exit code 1. It leaves as SystemExit: Dramatiq swallows what hooks raise, and
would start all the same.
"""

import gc
import multiprocessing
import os
import signal
from collections.abc import Collection
from datetime import timedelta
from functools import partial

from dramatiq import Broker, Worker

from base import logs
from base.errors import LonghaulError, Misconfigured
from base.settings import SQL_THREADS, Settings
from broker import ack_timeout
from broker.process import WorkerProcess
from broker.rabbit import RabbitBroker
from broker.step import steps
from middleware.resident import Resident
from schema.engine import Database
from schema.opening import open_database

log = logs.get(__name__)


class Boot(Resident):
    """Opens the worker process before the first message, and closes it after the last."""

    def __init__(self, process: WorkerProcess) -> None:
        super().__init__()
        self._process = process

    def before_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Raises:
        SystemExit: it can't work as it was started.
        """
        try:
            self._open(broker, worker)
        except LonghaulError as error:
            raise SystemExit(str(error)) from None
        super().before_worker_boot(broker, worker)

    def close(self) -> None:
        """Leave the workers and the database."""
        self._process.close()
        self._process.database.close()

    def _open(self, broker: Broker, worker: Worker) -> None:
        if not isinstance(broker, RabbitBroker):
            raise TypeError("only processes that meet at RabbitMQ boot by themselves")
        process, settings = self._process, self._process.settings
        lanes = frozenset(worker.consumer_whitelist or broker.get_declared_queues())
        refuse_more_processes()
        refuse_lanes(lanes, broker.get_declared_queues(), shared=settings.worker.shared)
        refuse_small_pool(settings, worker.worker_threads)
        # As many messages as threads: one more would wait behind a job that runs for an hour.
        worker.queue_prefetch = 1 if len(lanes) > 1 else worker.worker_threads
        broker.check(lanes)
        broker.on_refusal = _end
        database = open_database(settings)
        # Brings the migration tool along, which nothing else here needs.
        from schema.migrate import require_current  # noqa: PLC0415

        require_current(database)
        self._know_ack_timeout(database, lanes)
        process.open(database, broker, lanes)
        # What exists by now stays: the collector need not walk it again for every few thousand objects that jobs make.
        gc.collect()
        gc.freeze()

    def _know_ack_timeout(self, database: Database, lanes: Collection[str]) -> None:
        process = self._process
        known = ack_timeout.find(process.settings, database, lanes)
        ack_timeout.refuse_short(process.settings, known)
        if known is not None:
            process.ack_timeout.know(known)
            if sentence := ack_timeout.differs(process.settings, known):
                log.warning("the broker's ack timeout is short", error=sentence)
        refuse_long_steps(process.settings, process.ack_timeout.value, lanes)
        process.ack_timeout.on_learned = partial(ack_timeout.remember, database)


def refuse_more_processes() -> None:
    """One process in a container: Dramatiq ends all of them when one dies."""
    if multiprocessing.current_process().name not in ("MainProcess", "Process-1"):
        raise Misconfigured(
            "Longhaul runs one process with several threads: start "
            "`dramatiq actors --processes 1 --threads N -Q LANE`, and more of these for more."
        )


def refuse_lanes(lanes: Collection[str], known: Collection[str], *, shared: bool) -> None:
    """A lane has workers of its own, so that no lane waits behind another's long jobs."""
    among = f"The lanes are {', '.join(sorted(known))}."
    if unknown := sorted(set(lanes) - set(known)):
        raise Misconfigured(f"There is no lane {unknown[0]}. {among}")
    if len(lanes) != 1 and not shared:
        raise Misconfigured(
            f"A worker process serves one lane: start `dramatiq actors --processes 1 --threads N -Q LANE`. {among} "
            "For development LONGHAUL_WORKER__SHARED=true lets one process serve several."
        )


def refuse_small_pool(settings: Settings, threads: int) -> None:
    """Every thread may need a connection at once, and so may what runs SQL for the coroutines."""
    needed = threads + SQL_THREADS
    if settings.database.pool_size < needed:
        raise Misconfigured(
            f"{threads} threads need {needed} connections to the database, but LONGHAUL_DATABASE__POOL_SIZE is "
            f"{settings.database.pool_size}. Raise it, or use fewer threads."
        )


def refuse_long_steps(settings: Settings, longest_kept: timedelta, lanes: Collection[str]) -> None:
    """A step that can't hand over must be done before RabbitMQ takes its message back."""
    longest = longest_kept - settings.broker.ack_margin
    for task, step in steps().items():
        limit = step.policy.time_limit
        if step.policy.lane in lanes and limit is not None and limit >= longest:
            raise Misconfigured(
                f"The step {task} may run for {limit.total_seconds():g} s, but RabbitMQ takes a message back after "
                f"{longest_kept.total_seconds():g} s, less a margin of "
                f"{settings.broker.ack_margin.total_seconds():g} s. Raise LONGHAUL_BROKER__ACK_TIMEOUT, and the "
                "broker's consumer_timeout with it."
            )


def _end(_sentence: str) -> None:
    """RabbitMQ will not have it otherwise, however often it is asked; Dramatiq has logged the sentence."""
    os.kill(os.getpid(), signal.SIGTERM)
