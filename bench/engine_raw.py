"""What raw Dramatiq runs in the engine bench: a no-op, over its broker as it comes or surrounded by our middleware."""

from pathlib import Path

import dramatiq
from dramatiq.brokers.rabbitmq import RabbitmqBroker
from periodiq import PeriodiqMiddleware

from base.settings import Settings
from bench.engine_counting import Counting
from broker.process import WorkerProcess
from middleware.context import Context
from middleware.drain import Drain

TASK = "raw.noop"


class Prefetch(dramatiq.Middleware):
    """As many messages as threads, as our boot sets it."""

    def before_worker_boot(self, broker: dramatiq.Broker, worker: dramatiq.Worker) -> None:  # noqa: ARG002
        """Before its consumers start."""
        worker.queue_prefetch = worker.worker_threads


def plain(url: str) -> dramatiq.Broker:
    """Dramatiq as it comes: its broker, its default middleware, its prefetch."""
    return RabbitmqBroker(url=url)


def surrounded(url: str) -> dramatiq.Broker:
    """Dramatiq's broker with what of our middleware means something without a ledger, and our prefetch."""
    process = WorkerProcess(Settings())
    return RabbitmqBroker(url=url, middleware=[Prefetch(), Drain(process), PeriodiqMiddleware(), Context()])


#: Each kind has a lane of its own.
KINDS = {"plain": plain, "surrounded": surrounded}


def declare(broker: dramatiq.Broker, lane: str, counting: Counting) -> None:
    """Give a broker the no-op."""

    @dramatiq.actor(actor_name=TASK, queue_name=lane, broker=broker)
    def noop() -> None:
        if not counting.is_open:
            counting.wait()
        counting.count()


def serve(kind: str, url: str, folder: str) -> None:
    """Make it the broker that `dramatiq` finds."""
    chosen = KINDS[kind](url)
    declare(chosen, kind, Counting(Path(folder)))
    dramatiq.set_broker(chosen)
