"""A pass from end to end: replayed if an earlier claim finished it, else asked, logged, counted and kept as a
checkpoint (E21, E29). What a resumed run replays costs nothing and writes nothing.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypedDict
from uuid import UUID

from pydantic import ValidationError
from sqlalchemy import Connection

from actors.enrichment.attempts import Attempts, Patience, attempt
from actors.enrichment.checkpoints import Checkpoint, Checkpoints, checkpoint_of, pass_key
from actors.enrichment.cleaning import storable
from actors.enrichment.questions import Answer, Answered, GivenUp, ModelLost, Question, TokensSpent, TooLarge
from base import clock, logs
from base.errors import Stop, Transient
from broker.step import Work
from clients.llm.errors import RefusingModel
from clients.llm.model import LanguageModel, Usage
from schema.enrichment import passes, runs
from schema.enrichment.passes import Pass, Status

_log = logs.get(__name__)

#: While a call waits for a free completion slot, the run's progress moves this often.
PULSE = timedelta(seconds=15)

#: Passes in a row without a connection after which a model that answered before is given up.
UNREACHED_IN_A_ROW = 3

_SEPARATOR = "\n\n"


@dataclass
class Passes:
    """The passes of one run under one claim. `usage` counts all claims, `limit` is the run's brake in tokens (D16)."""

    work: Work
    run_id: UUID
    model: LanguageModel
    patience: Patience
    checkpoints: Checkpoints
    usage: Usage
    limit: int | None = None

    def __post_init__(self) -> None:
        self._pulsed = clock.monotonic()
        self._pulse: asyncio.Task[None] | None = None
        #: Passes in a row that did not reach the model, and how many are borne: one, until something has answered.
        self._unreached = 0
        self._borne = 1
        #: Passes that were cut, and what they cost.
        self._cut: list[tuple[Pass, Usage]] = []
        #: Literal codes the model's client warned of, in order.
        self.warnings: dict[str, None] = {}

    async def ask(self, question: Question[Answer]) -> Answered[Answer] | TooLarge | GivenUp:
        """The end of a pass, from its checkpoint or from the model.

        Raises:
            TokensSpent: the brake holds; nothing was asked.
            ModelLost: the model refuses every prompt, or can't be reached; the pass is logged.
        """
        key = self.key(question)
        recalled = self._recall(question, key)
        if recalled is not None:
            self._borne = UNREACHED_IN_A_ROW
            return recalled
        await self.work.pass_boundary()
        if self.limit is not None and self.usage.total_tokens >= self.limit:
            raise TokensSpent
        tried, began = Attempts(), clock.now()
        try:
            ended = await attempt(self.model, question, self.patience, tried, self._on_wait)
        except RefusingModel as refusal:
            await self._keep(question, key, tried, began, GivenUp(str(refusal)))
            raise ModelLost(str(refusal), reason=refusal.reason) from None
        except asyncio.CancelledError:
            self._note_cut(question, key, tried, began)
            raise
        if self._pulse is not None:
            await self._pulse
        self.warnings |= dict.fromkeys(tried.warnings)
        await self._keep(question, key, tried, began, ended)
        self._reached(ended)
        return Answered(key, ended.answer) if isinstance(ended, Answered) else ended

    def _reached(self, ended: Answered[Answer] | TooLarge | GivenUp) -> None:
        """Go on, unless the passes to come can't be expected to reach the model either."""
        if not isinstance(ended, GivenUp) or not ended.unreached:
            self._unreached, self._borne = 0, UNREACHED_IN_A_ROW
            return
        self._unreached += 1
        if self._unreached >= self._borne:
            raise ModelLost(ended.why, reason="model_unreachable")

    def key(self, question: Question[Answer]) -> str:
        """The identity of a pass: what its checkpoint is known by."""
        return pass_key(question.kind, question.operations, self.model.provider, self.model.name, question.ask)

    def _recall(self, question: Question[Answer], key: str) -> Answered[Answer] | TooLarge | GivenUp | None:
        """What an earlier claim found; None where it found nothing that can be read back (E30)."""
        kept = self.checkpoints.recall(key)
        if kept is None:
            return None
        if kept.answer is not None:
            try:
                return Answered(key, question.answer.model_validate(kept.answer))
            except ValidationError:
                _log.warning("checkpoint_unreadable", pass_key=key)
                return None
        if kept.split_into is not None:
            same = kept.split_into == tuple(self.key(part) for part in question.parts())
            return TooLarge(silent=kept.silent) if same else None
        return GivenUp(kept.unusable or "") if question.keeps_failure else None

    async def _keep(
        self,
        question: Question[Answer],
        key: str,
        tried: Attempts,
        began: datetime,
        ended: Answered[Answer] | TooLarge | GivenUp,
    ) -> None:
        """Log the pass with its checkpoint and its cost, in one transaction; also when it failed."""
        self.usage += tried.usage
        checkpoint = checkpoint_of(question, ended, self.key)
        forgotten = key in self.checkpoints
        row = _row(question, key, tried, began, ended, checkpoint)

        def spend(connection: Connection) -> bool:
            runs.spend(connection, self.run_id, **_cost(tried.usage))
            return True

        def write(connection: Connection) -> bool:
            if forgotten:
                passes.forget(connection, self.run_id, key)
            passes.write(connection, self.work.claim.account_id, self.run_id, row)
            return spend(connection)

        # A pass without a checkpoint gets the run nowhere: a handover after it is one without progress.
        store = self.work.note if checkpoint is None else self.work.checkpoint
        if await store(write) is None:
            # The row was refused: the run goes on without it, but what it cost is not forgotten (E30, D6).
            await self.work.note(spend)

    def _note_cut(self, question: Question[Answer], key: str, tried: Attempts, began: datetime) -> None:
        """A pass that is cut can't write any more; what it cost is written before the claim ends (D6)."""
        self.usage += tried.usage
        self._cut.append(
            (_row(question, key, tried, began, GivenUp("It was stopped before it ended."), None), tried.usage)
        )

        def write(connection: Connection) -> None:
            for row, usage in self._cut:
                passes.write(connection, self.work.claim.account_id, self.run_id, row)
                runs.spend(connection, self.run_id, **_cost(usage))

        self.work.at_parting(write)

    def _on_wait(self) -> None:
        """Waiting for a completion slot moves progress, so that a busy provider is no hang (E22)."""
        if clock.monotonic() - self._pulsed >= PULSE.total_seconds() and self._pulse is None:
            self._pulsed = clock.monotonic()
            self._pulse = asyncio.get_running_loop().create_task(self._move_progress())

    async def _move_progress(self) -> None:
        try:
            await self.work.progress()
        except (Transient, Stop):
            pass  # the database is away or the claim is: the next pass boundary deals with it
        finally:
            self._pulse = None


class _Cost(TypedDict):
    input_tokens: int
    output_tokens: int
    estimated: bool


def _cost(usage: Usage) -> _Cost:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "estimated": usage.estimated,
    }


def _row(  # noqa: PLR0917  what a pass was, in the order it happened
    question: Question[Answer],
    key: str,
    tried: Attempts,
    began: datetime,
    ended: Answered[Answer] | TooLarge | GivenUp,
    checkpoint: Checkpoint | None,
) -> Pass:
    """A pass as its run's log keeps it (E21)."""
    status, error = _logged(ended, checkpoint)
    return Pass(
        pass_key=key,
        kind=question.kind,
        chunk_id=question.chunk_id,
        status=status,
        attempts=tried.count,
        prompt=_SEPARATOR.join(message.content for message in question.ask.messages),
        raw_output=None if tried.raw_output is None else storable(tried.raw_output),
        answer=None if checkpoint is None else checkpoint.to_json(),
        suggestions=question.count(ended.answer) if isinstance(ended, Answered) else {},
        input_tokens=tried.usage.input_tokens,
        output_tokens=tried.usage.output_tokens,
        usage_source="estimated" if tried.usage.estimated else "reported",
        error=error,
        started_at=began,
    )


def _logged(ended: Answered[Answer] | TooLarge | GivenUp, checkpoint: Checkpoint | None) -> tuple[Status, str | None]:
    """Status and error of a pass in the run's log (E21)."""
    if isinstance(ended, Answered):
        return "completed", None
    if checkpoint is not None and checkpoint.split_into is not None:
        return "split", "The prompt or its answer is too long for this model. It is asked in parts."
    return "failed", ended.why
