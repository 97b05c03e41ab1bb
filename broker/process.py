"""One process that works on jobs: its row among the workers, the claims it holds, its loop, its relay, its ending.

Made when the process starts, opened when it begins to work; shared by everything that surrounds a step, so that none
of it is global.
"""

import math
import threading
from collections.abc import Callable, Collection
from contextlib import ExitStack
from typing import TypeVar
from uuid import UUID

from base import logs
from base.clock import monotonic
from base.errors import Misconfigured
from base.settings import SQL_THREADS, Settings
from broker import signals, wake
from broker.ack_timeout import AckTimeout
from broker.delivery import Delivery
from broker.held import Held, Registry
from broker.loop import Loop
from broker.relay import Relay
from broker.step import steps
from broker.wakes import Publishing
from ledger import workers
from ledger.claiming import Claim
from schema.engine import Database, DatabaseAway

T = TypeVar("T")

log = logs.get(__name__)

#: Beats that may be missing before no run starts a pass.
_SILENT_BEATS = 2


class WorkerProcess:
    """What the middlewares and the steps of one process share.

    Attributes:
        settings: what the operator set.
        held: the claims of this process.
        ack_timeout: how long RabbitMQ lets it keep a message, as far as that is known.
        draining: it takes nothing new and hands over what it holds.
        ending: passes in flight are cut too, and nobody waits for an outage any longer.
        vital: threads it can't work without, by name; each says whether it lives.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.held = Registry()
        self.ack_timeout = AckTimeout(settings.broker)
        self.draining = threading.Event()
        self.ending = threading.Event()
        self.vital: dict[str, Callable[[], bool]] = {}
        self._database: Database | None = None
        self._worker_id: UUID | None = None
        self._loop: Loop | None = None
        self._beat_at = 0.0
        self._opened = ExitStack()

    @property
    def database(self) -> Database:
        """The process's database."""
        return _opened(self._database)

    @property
    def worker_id(self) -> UUID:
        """Its row among the workers."""
        return _opened(self._worker_id)

    @property
    def loop(self) -> Loop:
        """The event loop of its steps."""
        return _opened(self._loop)

    def open(self, database: Database, broker: Publishing, lanes: Collection[str]) -> None:
        """Enter among the workers of these lanes, and begin to keep their queues filled.

        Raises:
            DatabaseAway: the database can't be reached.
        """
        self._database = database
        self._worker_id = workers.register(database, lanes=lanes, tasks=list(steps()))
        self._opened.callback(self._retire)
        self.heard(monotonic())
        self._loop = Loop(SQL_THREADS)
        self._opened.callback(self._loop.close)
        self.vital["loop"] = self._loop.is_alive
        waker = wake.Waker(broker.wakes())
        wake.use(waker)
        self._opened.callback(waker.close)
        self._opened.callback(wake.use, None)
        carrier = broker.carrier(database)
        signals.use(carrier)
        self.vital["signals"] = carrier.is_alive
        self._opened.callback(carrier.close)
        self._opened.callback(signals.use, None)
        of_its_own = database.apart()
        self._opened.callback(of_its_own.close)
        relay = Relay(self.settings, of_its_own, broker.wakes(), lanes)
        relay.start()
        self.vital["relay"] = relay.is_alive
        self._opened.callback(relay.close)

    def take(self, claim: Callable[[bool], Claim | None], delivery: Delivery | None) -> Held | None:
        """Hold what is claimed. `claim` is told whether that may be a job that lost a worker before."""
        suspects = self.held.may_take_suspect()
        claimed: Claim | None = None
        try:
            claimed = claim(suspects)
        finally:
            if suspects and (claimed is None or not claimed.recoveries):
                self.held.release_suspect()
        if claimed is None:
            return None
        give_back_at = math.inf if delivery is None else delivery.give_back_at
        held = Held(claimed, delivery=delivery, hand_over_at=give_back_at, draining=self.draining)
        self.held.add(held)
        return held

    def close(self) -> None:
        """Undo it all, in reverse. Nothing is held any more."""
        self._opened.close()

    def _retire(self) -> None:
        try:
            workers.retire(self.database, self.worker_id)
        except DatabaseAway as error:
            # Its silence will say the same.
            log.info("the worker's end was not noted", error=str(error))

    def heard(self, since: float) -> None:
        """A beat that was sent at that moment (monotonic seconds) has reached the database."""
        self._beat_at = since

    def is_heard(self) -> bool:
        """Whether the last beat that arrived is young enough to start a pass (I9)."""
        return monotonic() - self._beat_at <= _SILENT_BEATS * self.settings.beat_interval.total_seconds()


def _opened(part: T | None) -> T:
    if part is None:
        raise Misconfigured("This process has not been opened for work yet.")
    return part
