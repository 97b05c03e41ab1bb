"""The broker of a process that runs everything itself: queues in memory, under Dramatiq's own workers.

Losing it loses nothing: the jobs are rows, and the relay fills a fresh queue within a second.
"""

import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from dramatiq import Broker, Consumer, Message, Middleware

from base.errors import Misconfigured
from broker.delivery import Delivery, wake_up
from broker.postgres_signals import PostgresCarrier
from schema.engine import Database


class LocalBroker(Broker):
    """Dramatiq's broker over queues in this process's memory. Lanes may have a `Worker` each.

    Attributes:
        draining: set, consumers take no new message.
    """

    def __init__(self, *, middleware: list[Middleware], draining: threading.Event | None = None) -> None:
        super().__init__(middleware=middleware)
        self.queues: dict[str, LocalQueue] = {}
        self.draining = draining or threading.Event()

    def add_middleware(self, middleware: Middleware, **where: Any) -> None:
        """As Dramatiq does, but a second `Worker` on this broker is meant and no reason for a warning."""
        if type(middleware).__module__ != "dramatiq.worker":
            super().add_middleware(middleware, **where)
            return
        self.middleware.append(middleware)
        for lane in self.queues:
            middleware.after_declare_queue(self, lane)

    def declare_queue(self, queue_name: str) -> None:
        """Make a lane's queue, if it is not there. There are no delay queues."""
        if queue_name not in self.queues:
            self.emit_before("declare_queue", queue_name)
            self.queues[queue_name] = LocalQueue()
            self.emit_after("declare_queue", queue_name)

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 1000) -> "LocalConsumer":
        """A consumer of a lane. `prefetch` is the number of its threads, `timeout` is in milliseconds."""
        return LocalConsumer(self.queues[queue_name], self.draining, threads=prefetch, idle=timeout / 1000)

    def enqueue(self, message: "Message[Any]", *, delay: int | None = None) -> "Message[Any]":
        """Put one message into its lane's queue.

        Raises:
            ValueError: `delay` was given; a job that is due later is a row of the ledger.
        """
        if delay is not None:
            raise ValueError("messages are not delayed: insert a job with a due time instead")
        self.emit_before("enqueue", message, delay)
        self._queue(message.queue_name).put(message)
        self.emit_after("enqueue", message, delay)
        return message

    def wakes(self) -> "LocalWakes":
        """A publisher of wake-ups."""
        return LocalWakes(self)

    def carrier(self, database: Database) -> PostgresCarrier:
        """What takes this process's signals to the others on its database, and theirs to it."""
        return PostgresCarrier(database)

    def woken(self, lane: str, tasks: Mapping[str, int]) -> None:
        """Another process inserted jobs; a lane that nobody serves here is none of our business."""
        if lane in self.queues:
            self.wakes().send(lane, tasks)

    def _queue(self, lane: str) -> "LocalQueue":
        try:
            return self.queues[lane]
        except KeyError:
            raise Misconfigured(f"No step of this process works in a lane named {lane}.") from None


class LocalQueue:
    """Messages in the order they came, given out to whoever waits."""

    def __init__(self) -> None:
        self._messages: deque[Message[Any]] = deque()
        self._arrival = threading.Condition()

    def __len__(self) -> int:
        return len(self._messages)

    def put(self, message: "Message[Any]", count: int = 1) -> None:
        """Add a message at the end, `count` times."""
        with self._arrival:
            self._messages.extend([message] * count)
            self._arrival.notify(count)

    def put_back(self, message: "Message[Any]") -> None:
        """Give back a message that was taken: it is the next one."""
        with self._arrival:
            self._messages.appendleft(message)
            self._arrival.notify()

    def take(self, seconds: float) -> "Message[Any] | None":
        """The oldest message, waiting this long for one."""
        with self._arrival:
            self._arrival.wait_for(lambda: self._messages, seconds)
            return self._messages.popleft() if self._messages else None


class LocalDelivery(Delivery):
    """A message with what it stands for, to put back."""

    def __init__(self, message: "Message[Any]") -> None:
        super().__init__(message)
        self.original = message


class LocalConsumer(Consumer):
    """Takes a lane's messages, one for each thread that is free."""

    def __init__(self, queue: LocalQueue, draining: threading.Event, *, threads: int, idle: float) -> None:
        self._queue = queue
        self._draining = draining
        self._idle = idle
        self._free = threading.Semaphore(threads)

    def __next__(self) -> Delivery | None:
        if self._draining.is_set():
            time.sleep(self._idle)
            return None
        if not self._free.acquire(timeout=self._idle):
            return None
        message = self._queue.take(self._idle)
        if message is None:
            self._free.release()
            return None
        return LocalDelivery(message)

    def ack(self, message: LocalDelivery) -> None:  # type: ignore[override]
        """Free the thread; what was kept goes back to the head of the queue."""
        if message.kept:
            self._queue.put_back(message.original)
        self._free.release()

    def nack(self, message: LocalDelivery) -> None:  # type: ignore[override]
        """Nothing is kept of a message that was failed: the relay sends another."""
        self.ack(message)


class LocalWakes:
    """`Wakes` over a `LocalBroker`."""

    def __init__(self, broker: LocalBroker) -> None:
        self._broker = broker

    def ready(self, lane: str) -> int:
        """Wake-ups in the lane's queue that no thread has taken."""
        return len(self._broker._queue(lane))  # noqa: SLF001  one file, one idea

    def send(self, lane: str, tasks: Mapping[str, int]) -> None:
        """Put this many wake-ups of each task into the lane's queue."""
        for task, count in tasks.items():
            self._broker._queue(lane).put(wake_up(lane, task), count)  # noqa: SLF001

    def close(self) -> None:
        """Nothing to let go of."""
