"""What every log line of a job carries, and one line when it starts and one when it ends."""

from dramatiq import Broker, MessageProxy, Middleware
from structlog.contextvars import bind_contextvars, clear_contextvars

from base import logs
from base.clock import monotonic
from broker.held import in_hand

log = logs.get(__name__)


class Context(Middleware):
    """Binds job, task, lane, account and attempt around each message; the coroutine's lines carry them too."""

    def before_process_message(self, broker: Broker, message: MessageProxy) -> None:
        """Say what starts. It stands after the claim: there is nothing to say of a message without one."""
        clear_contextvars()
        held = in_hand()
        if held is not None:
            claim = held.claim
            bind_contextvars(
                job=str(claim.job_id),
                task=claim.task,
                lane=claim.lane,
                account=str(claim.account_id),
                attempt=claim.attempts,
            )
            log.info("job starts")

    def after_process_message(self, broker: Broker, message: MessageProxy, **_: object) -> None:
        """Say how it ended."""
        held = in_hand()
        if held is not None:
            log.info("job ends", outcome=held.outcome, seconds=round(monotonic() - held.started_at, 3))
        clear_contextvars()
