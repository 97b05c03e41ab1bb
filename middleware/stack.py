"""What surrounds every step, in order: before-hooks run down this list, after-hooks up."""

import logging

from dramatiq import Middleware
from periodiq import PeriodiqMiddleware

from broker.process import WorkerProcess
from middleware.abort import AbortJob
from middleware.beat import Beat
from middleware.claim import ClaimJob
from middleware.context import Context
from middleware.drain import Drain
from middleware.watchdog import Watchdog

#: A tick older than this many seconds is skipped: the next one does its work.
_STALE_TICK_SECONDS = 120


def stack(process: WorkerProcess) -> list[Middleware]:
    """The middlewares of a worker process.

    Dramatiq's own are left out on purpose: Retries and TimeLimit (the ledger retries, and a limit is a timeout on the
    loop, never an exception thrown into a thread), AgeLimit, Callbacks, Pipelines, ShutdownNotifications.
    """
    # A wake-up that finds nothing is skipped, which Dramatiq thinks worth a warning each time.
    logging.getLogger("dramatiq.worker.WorkerThread").setLevel(logging.ERROR)
    return [
        Beat(process),
        AbortJob(process),
        Watchdog(process),
        # What may skip a message. All of it precedes the claim: a job that was claimed and skipped would wait for
        # the beat to be found.
        Drain(process),
        PeriodiqMiddleware(skip_delay=_STALE_TICK_SECONDS),
        ClaimJob(process),
        # What only looks.
        Context(),
    ]
