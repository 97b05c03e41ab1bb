"""A job's life in a worker thread, in order: claimed, parsed, run, settled, announced; and then perhaps the next one's.

The thread waits while the coroutine runs on the loop, and then writes the end itself: a completion on the loop would
stand in the way of every other job's. No failure of a job leaves this file; Dramatiq only ever sees a message done.
"""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from dramatiq import Actor, Broker
from pydantic import ValidationError
from sqlalchemy.exc import DBAPIError

from base import logs
from base.clock import monotonic
from base.errors import Canceled, ClaimLost, HandOver, Permanent, Transient
from broker.held import Held, in_hand
from broker.process import WorkerProcess
from broker.step import Step, steps
from broker.waits import waits
from broker.wake import wake
from broker.work import Done, Work
from ledger import ending, running
from ledger.claiming import Claim
from ledger.ending import REQUEST_GONE
from ledger.policy import policy
from schema.engine import DatabaseAway

#: Seconds after a wake-up came in during which its thread goes on to the next job without another one.
_GOES_ON_SECONDS = 1.0

log = logs.get(__name__)


class Unclaimed(RuntimeError):
    """A step was called without a claim: its body does not run (I1)."""


class StepActor(Actor[[], None]):
    """Where wake-ups for a lane come in. Which step runs is not the message's to say: it is the claimed job's."""

    def __init__(self, process: WorkerProcess, step: Step, broker: Broker) -> None:
        super().__init__(
            lambda: work_off(process, broker),
            broker=broker,
            actor_name=step.policy.task,
            queue_name=step.policy.lane,
            priority=0,
            options={},
        )


def declare_actors(process: WorkerProcess, broker: Broker) -> None:
    """Give every step this process knows its actor on a broker."""
    for step in steps().values():
        StepActor(process, step, broker)


def claimed(held: Held | None) -> Held:
    """Refuse to run a step without a claim (I1).

    Raises:
        Unclaimed: there is none.
    """
    if held is None:
        raise Unclaimed("A step was called without a claim; its body was not run.")
    return held


def work_off(process: WorkerProcess, broker: Broker) -> None:
    """The job that a wake-up led to, and each that was claimed with the end of the one before."""
    live(process, held := claimed(in_hand()))
    while held.following is not None:
        # One message brings them, but each has all that surrounds a step to itself.
        broker.emit_after("process_message", held.delivery)
        broker.emit_before("process_message", held.delivery)
        live(process, held := claimed(in_hand()))


def live(process: WorkerProcess, held: Held) -> None:
    """One job, from its claim to its end."""
    outcome = _run(process, held, steps()[held.claim.task])
    try:
        _settle(process, held, outcome)
    except Exception:
        # A reaction that raises undoes the end it reacts to. The claim becomes an orphan, and comes back.
        held.outcome = "unsettled"
        log.exception("the end of a job could not be written")


def _run(process: WorkerProcess, held: Held, step: Step) -> Done | BaseException:
    """Run the step's coroutine to its end, and that of the threads it started."""
    if held.claim.payload is None:
        return Permanent("The job's stored request is gone. Ask again.", reason=REQUEST_GONE)
    try:
        request = step.policy.payload.model_validate(held.claim.payload)
    except ValidationError as error:
        return Permanent(_unreadable(error), reason="payload_unreadable")
    work = Work(held.claim, process.database, held=held, heard=process.is_heard)
    limit = step.policy.time_limit
    body = step.body(work, request)
    run = process.loop.run(body if limit is None else _within(limit, body))
    held.attach(run)
    try:
        done = run.wait()
    except BaseException as error:  # noqa: BLE001  whatever ends a step ends its job only (I12)
        return error
    finally:
        held.over()
    return done


async def _within(limit: timedelta, body: Coroutine[Any, Any, Done]) -> Done:
    """The body, cut at its limit."""
    clock = asyncio.timeout(limit.total_seconds())
    try:
        async with clock:
            return await body
    except TimeoutError:
        if not clock.expired():
            raise
        raise Transient(f"The step ran longer than its limit of {limit.total_seconds():g} s.") from None


def _settle(process: WorkerProcess, held: Held, outcome: Done | BaseException) -> None:
    """Write the end of the run: exactly one of the ledger's verbs, or nothing where it is another's."""
    if isinstance(outcome, BaseException) and held.reason is not None:
        # It was stopped: what its coroutine made of that is beside the point.
        outcome = held.reason
    match outcome:
        case Done():
            _complete(process, held, outcome)
        case Canceled():
            held.outcome = "canceled"
        case ClaimLost():
            held.outcome = "claim lost"
        case HandOver():
            _hand_over(process, held)
        case DatabaseAway():
            _hand_over(process, held)
        case Permanent():
            _fail(process, held, outcome.reason, outcome)
        case Transient():
            _retry(process, held, outcome, outcome.retry_after)
        case _:
            _unexpected(process, held, outcome)


def _complete(process: WorkerProcess, held: Held, done: Done) -> None:
    def complete(suspects: bool) -> Claim | None:
        return ending.complete(
            process.database,
            held.claim,
            done.result,
            write=done.write,
            reason=done.reason,
            follow_ups=done.follow_ups,
            next_of=list(steps()) if _goes_on(process, held) else (),
            suspects=suspects,
        )

    def write() -> None:
        held.following = process.take(complete, held.delivery)

    try:
        written = _persist(process, held, write, done.reason or "done")
    except Exception as error:
        log.exception("the result of a job was refused")
        _fail(process, held, "result_refused", error)
        return
    if not written:
        return
    for wanted in done.follow_ups:
        if wanted.due_at is None:
            wake(wanted.lane or policy(wanted.task).lane, wanted.task)
    _wake_behind_gate(held)


def _hand_over(process: WorkerProcess, held: Held) -> None:
    def write() -> None:
        if not ending.hand_over(process.database, held.claim, progressed=held.progressed):
            held.outcome = "failed"

    if _persist(process, held, write, "handed over"):
        wake(held.claim.lane, held.claim.task)


def _fail(process: WorkerProcess, held: Held, reason: str, error: BaseException) -> None:
    _persist(
        process,
        held,
        lambda: ending.fail(process.database, held.claim, reason=reason, error=error),
        f"failed: {reason}",
    )
    _wake_behind_gate(held)


def _retry(process: WorkerProcess, held: Held, error: BaseException, retry_after: timedelta | None) -> None:
    def write() -> None:
        if not ending.retry(process.database, held.claim, error=error, retry_after=retry_after):
            held.outcome = "failed: attempts exhausted"

    _persist(process, held, write, "to be retried")
    _wake_behind_gate(held)


def _unexpected(process: WorkerProcess, held: Held, error: BaseException) -> None:
    """An error nobody foresaw: worth another attempt where the policy has attempts, else final."""
    log.error("a step failed unexpectedly", exc_info=error)
    if policy(held.claim.task).attempt_limit is None:
        _fail(process, held, "unexpected_error", error)
    else:
        _retry(process, held, error, None)


def _persist(process: WorkerProcess, held: Held, write: Callable[[], None], outcome: str) -> bool:
    """Write an end, waiting out a database that is away. False: the claim is another's, or the process ended first."""
    held.outcome = outcome
    for wait in waits():
        try:
            _part(process, held)
            write()
        except ClaimLost:
            held.outcome = "claim lost"
            return False
        except DatabaseAway as error:
            log.warning("the end of a job waits for the database", error=str(error), seconds=round(wait))
        else:
            return True
        if process.ending.wait(wait):
            break
    # The row still says running; this worker will be gone, and its jobs are taken back.
    held.outcome = "unsettled"
    if held.delivery is not None:
        held.delivery.keep()
    return False


def _part(process: WorkerProcess, held: Held) -> None:
    """Write what the step left to be written; a row that is refused does not stand in the way of the end."""
    if held.parting is None:
        return
    try:
        running.checkpoint(process.database, held.claim, held.parting)
    except DBAPIError as error:
        log.error("a last note was refused", error=str(error.orig).split("\n", 1)[0])  # noqa: TRY400
    held.parting = None


def _goes_on(process: WorkerProcess, held: Held) -> bool:
    """Whether the next job is claimed with the end of this one: each needs the time that RabbitMQ leaves a message."""
    fresh = held.delivery is not None and monotonic() < held.delivery.arrived_at + _GOES_ON_SECONDS
    return fresh and not process.draining.is_set()


def _wake_behind_gate(held: Held) -> None:
    """A job that ended may have freed a slot for the next one of its kind, unless this thread has that already."""
    followed = held.following is not None and held.following.claim.task == held.claim.task
    if policy(held.claim.task).gate is not None and not followed:
        wake(held.claim.lane, held.claim.task)


def _unreadable(error: ValidationError) -> str:
    """What is wrong with a payload, without repeating what it holds."""
    first = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the payload"
    return f"The job's payload can't be read by this version: {where}: {first['msg']}."
