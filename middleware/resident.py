"""What lives as long as the process has a Dramatiq `Worker`; an embedded process has one for each lane."""

from dramatiq import Broker, Middleware, Worker


class Resident(Middleware):
    """Started before the first worker boots, closed after the last has shut down."""

    def __init__(self) -> None:
        self._workers = 0

    def start(self, broker: Broker) -> None:
        """Begin."""

    def close(self) -> None:
        """End; nothing is worked on any more."""

    def before_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Count it."""
        self._workers += 1
        if self._workers == 1:
            self.start(broker)

    def after_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        """Count it out."""
        self._workers -= 1
        if self._workers == 0:
            self.close()
