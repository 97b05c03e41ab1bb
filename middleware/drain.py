"""The drain: a process that ends takes nothing new, gives back what it has not begun, and hands its runs over.

It begins as soon as SIGTERM arrives; Dramatiq itself looks once a second, and stops consuming only when the last job
has ended.
"""

import signal
import threading
from collections.abc import Callable
from types import FrameType

from dramatiq import Broker, MessageProxy, Worker
from dramatiq.middleware import SkipMessage

from base import logs
from base.errors import HandOver
from broker.delivery import Delivery
from broker.held import in_hand
from broker.process import WorkerProcess
from middleware.resident import Resident

log = logs.get(__name__)

#: A claim that was being made meanwhile is found this soon.
_LOOK_SECONDS = 0.2


class Drain(Resident):
    """Empties the process once its `draining` is set."""

    def __init__(self, process: WorkerProcess) -> None:
        super().__init__()
        self._process = process
        self._ended = threading.Event()

    def start(self, broker: Broker) -> None:
        """Wait for the end, in a thread."""
        self._ended.clear()
        threading.Thread(target=self._run, name="drain", daemon=True).start()
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                self._before(number)

    def close(self) -> None:
        """It is empty."""
        self._ended.set()

    def before_process_message(self, broker: Broker, message: MessageProxy) -> None:
        """Raises:
        SkipMessage: the process ends; the message goes back.
        """
        if isinstance(message, Delivery):
            # What is claimed already is run, and hands over: skipped, it would wait for the beat to be found.
            if self._process.draining.is_set() and in_hand() is None:
                message.keep()
                raise SkipMessage("The worker is ending.")
            message.started = True

    def before_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        """However the end was asked for."""
        if not self._process.draining.is_set():
            self._process.draining.set()

    def _before(self, number: signal.Signals) -> None:
        """Drain at this signal, then do what Dramatiq does; the second one is Dramatiq's alone."""
        theirs = signal.getsignal(number)
        if not callable(theirs):
            # Not under Dramatiq's command line: whoever embeds this process decides what a signal means.
            return
        then: Callable[[int, FrameType | None], object] = theirs

        def on_signal(received: int, frame: FrameType | None) -> None:
            if not self._process.draining.is_set():
                self._process.draining.set()
            then(received, frame)

        signal.signal(number, on_signal)

    def _run(self) -> None:
        process = self._process
        process.draining.wait()
        log.info("draining", held=len(process.held.all()))
        if self._ended.wait(process.settings.worker.drain_grace.total_seconds()):
            return
        process.ending.set()
        while not self._ended.wait(_LOOK_SECONDS):
            for held in process.held.all():
                held.stop(HandOver("The worker is ending and could not wait for the pass."))
