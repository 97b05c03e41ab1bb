"""A worker of every lane asked for inside this process, over a local broker: what `enrich` and `up` start."""

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager

from base import logs
from base.settings import Settings
from broker import signals
from broker import tick as ticking
from broker.delivery import wake_up
from broker.embedded import Embedded
from broker.life import declare_actors
from broker.local import LocalBroker
from broker.process import WorkerProcess
from ledger.reaping import reap_gone
from middleware.stack import stack
from schema.engine import Database

log = logs.get(__name__)

_TICK_SECONDS = 60.0


@contextmanager
def running(
    settings: Settings,
    database: Database,
    lanes: Collection[str],
    *,
    sweeps: Callable[[], None],
    tick: bool,
) -> Iterator[Embedded]:
    """Work for the lanes while the block runs.

    Raises:
        DatabaseAway: it can't be reached at the start.
    """
    process = WorkerProcess(settings)
    broker = LocalBroker(middleware=stack(process), draining=process.draining)
    declare_actors(process, broker)
    ticking.declare_tick(broker, sweeps)
    # An earlier process that was killed may have held what this one was started for.
    for taken in reap_gone(database):
        log.warning("a job of a dead worker was taken back", job=str(taken.job_id), outcome=taken.outcome)
    threads = {lane: 1 if lane == ticking.LANE else settings.worker.threads for lane in lanes}
    with ExitStack() as ending:
        ending.callback(process.close)
        process.open(database, broker, lanes)
        ending.callback(signals.on_wake(broker.woken))
        worker = Embedded(process, broker, threads)
        ending.callback(worker.stop)
        worker.start()
        if tick:
            ending.callback(_start_tick(broker))
        yield worker


def _start_tick(broker: LocalBroker) -> Callable[[], None]:
    """Send the tick now and each minute; the answer ends it."""
    ended = threading.Event()

    def run() -> None:
        broker.enqueue(wake_up(ticking.LANE, ticking.TASK))
        while not ended.wait(_TICK_SECONDS):
            broker.enqueue(wake_up(ticking.LANE, ticking.TASK))

    threading.Thread(target=run, name="tick", daemon=True).start()
    return ended.set
