"""The passes of a run: each row is a log entry (E21), and while its run is open also a checkpoint (E29)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, Row, insert, null, select, update

from base.ids import uuid7
from schema.enrichment.tables import enrichment_passes as table

Kind = Literal["digest", "overview", "chunk"]
Status = Literal["completed", "failed", "split"]


class Pass(NamedTuple):
    """One call with its retries. Tokens are summed over all attempts, failed ones too (D6)."""

    pass_key: str
    kind: Kind
    chunk_id: str | None
    status: Status
    attempts: int
    prompt: str
    raw_output: str | None
    #: The checkpoint; None: nothing that a resumed run could use.
    answer: Mapping[str, Any] | None
    suggestions: Mapping[str, int]
    input_tokens: int
    output_tokens: int
    #: `reported` by the provider, or `estimated`.
    usage_source: str
    error: str | None
    started_at: datetime


def write(connection: Connection, account_id: UUID, run_id: UUID, one: Pass) -> None:
    """Add a pass to its run's log."""
    connection.execute(
        insert(table).values(
            id=uuid7(), account_id=account_id, run_id=run_id, retries=max(0, one.attempts - 1), **one._asdict()
        )
    )


def checkpoints(connection: Connection, run_id: UUID) -> dict[str, Mapping[str, Any]]:
    """The stored answers of a run by pass key."""
    rows = connection.execute(
        select(table.c.pass_key, table.c.answer).where(table.c.run_id == run_id, table.c.answer.is_not(None))
    )
    return {row.pass_key: row.answer for row in rows}


def forget(connection: Connection, run_id: UUID, pass_key: str) -> None:
    """Empty one checkpoint that can't be read back; its pass runs again (E30)."""
    connection.execute(
        update(table).where(table.c.run_id == run_id, table.c.pass_key == pass_key).values(answer=null())
    )


def clear(connection: Connection, run_id: UUID) -> None:
    """Empty the checkpoints of an ended run; the log stays (E30)."""
    connection.execute(update(table).where(table.c.run_id == run_id, table.c.answer.is_not(None)).values(answer=null()))


def log(connection: Connection, run_id: UUID) -> Sequence[Row[Any]]:
    """The child log of a run in the order of time, without prompts and answers."""
    columns = [
        column for column in table.c if column.name not in {"account_id", "run_id", "prompt", "raw_output", "answer"}
    ]
    return connection.execute(select(*columns).where(table.c.run_id == run_id).order_by(table.c.id)).all()
