"""Dramatiq workers inside this process, one for each lane, for a command that runs everything itself."""

from collections.abc import Mapping

from dramatiq import Worker

from broker.local import LocalBroker
from broker.process import WorkerProcess

#: How often idle threads look whether they are to end.
_LOOK_MILLISECONDS = 100


class Embedded:
    """The workers of one process over its local broker. The process is open already.

    Args:
        process: what they share.
        broker: with the middlewares and actors of that process.
        threads: how many threads each lane has.
    """

    def __init__(self, process: WorkerProcess, broker: LocalBroker, threads: Mapping[str, int]) -> None:
        self._process = process
        self._workers = [self._worker(broker, lane, count) for lane, count in threads.items()]

    def start(self) -> None:
        """Begin to work."""
        for worker in self._workers:
            worker.start()

    def ask_handover(self) -> None:
        """Take nothing new, and hand over what runs. Returns at once; a signal handler may call it."""
        if not self._process.draining.is_set():
            self._process.draining.set()

    def idle(self, seconds: float) -> bool:
        """Whether no claim is held within this time."""
        return self._process.held.wait_until_empty(seconds)

    def stop(self) -> None:
        """Hand over what runs, cut what does not within the drain's grace, and end."""
        self.ask_handover()
        for worker in self._workers:
            worker.stop()

    @staticmethod
    def _worker(broker: LocalBroker, lane: str, threads: int) -> Worker:
        worker = Worker(broker, queues={lane}, worker_threads=threads, worker_timeout=_LOOK_MILLISECONDS)
        worker.queue_prefetch = threads
        return worker
