"""The abort: a job that was canceled or taken back is stopped here at once, in whichever process holds it (E37).

A signal that is lost costs at most one beat, which finds the same out.
"""

from collections.abc import Callable

from dramatiq import Broker

from base import logs
from base.errors import Canceled, ClaimLost, Stop
from broker import signals
from broker.process import WorkerProcess
from broker.signals import Abort
from middleware.resident import Resident

log = logs.get(__name__)


class AbortJob(Resident):
    """Listens while the process works."""

    def __init__(self, process: WorkerProcess) -> None:
        super().__init__()
        self._process = process
        self._unsubscribe: Callable[[], None] = lambda: None

    def start(self, broker: Broker) -> None:
        """Begin to listen."""
        self._unsubscribe = signals.on_abort(self.abort)

    def close(self) -> None:
        """Listen no more."""
        self._unsubscribe()

    def abort(self, abort: Abort) -> None:
        """Stop the run under exactly that fence: a later claim of the same job is somebody else's."""
        held = self._process.held.find(abort.job_id, abort.fence)
        if held is not None:
            log.info("a run is stopped", job=str(abort.job_id), why=abort.why)
            held.stop(_reason(abort))


def _reason(abort: Abort) -> Stop:
    if abort.why == "canceled":
        return Canceled("The job was canceled.")
    return ClaimLost("The job was taken back.")
