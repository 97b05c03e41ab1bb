"""Inserting a job, in the transaction of what it is inserted for (I4, I6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pydantic import BaseModel
from sqlalchemy import Connection

from base.errors import Conflict, LonghaulError, Misconfigured
from base.ids import uuid7
from ledger.policy import GATE_MARK, Policy, policy
from schema.ledger import jobs

#: An open job that holds the key may end between the insert and the read, and another take its place, and so on.
_LOOKS = 100


@dataclass(frozen=True)
class Inserted:
    """The job that stands for the request; `created` False: it was open already, under the same key."""

    job_id: UUID
    created: bool


@dataclass(frozen=True, kw_only=True)
class FollowUp:
    """A job to insert when another is done, in the same transaction and account."""

    task: str
    payload: BaseModel
    key: str | None = None
    priority: int | None = None
    lane: str | None = None
    gate: str | None = None
    due_at: datetime | None = None
    total_items: int | None = None


def insert(
    connection: Connection,
    task: str,
    payload: BaseModel,
    *,
    account_id: UUID,
    key: str | None = None,
    priority: int | None = None,
    lane: str | None = None,
    gate: str | None = None,
    due_at: datetime | None = None,
    job_id: UUID | None = None,
    total_items: int | None = None,
) -> Inserted:
    """Insert a job, or answer the open one that holds its key, by the task's policy (I6).

    `connection` is the account's transaction. `priority`, `lane` and `gate` replace the policy's: another lane's
    workers must know the task too. With `due_at` in the future the job waits for it.

    Raises:
        Conflict: a job with this key is open, and the task's policy refuses a second request; `open_id` is its id.
    """
    declared = policy(task)
    job = _new(
        declared,
        account_id,
        priority=priority,
        lane=lane,
        gate=gate,
        key=key,
        due_at=due_at,
        job_id=job_id,
        total_items=total_items,
        payload=_json(declared, payload),
    )
    for _ in range(_LOOKS):
        if jobs.insert(connection, job):
            return Inserted(job.id, created=True)
        open_id = jobs.open_with_key(connection, account_id, key) if key is not None else None
        if open_id is None:
            continue
        if declared.already_open == "refuse":
            raise Conflict(f"The same is open already: job {open_id}. Wait for it, or cancel it.", open_id=str(open_id))
        return Inserted(open_id, created=False)
    raise LonghaulError(f"The key {key} changed hands {_LOOKS} times while a job was inserted for it.")


def insert_many(
    connection: Connection,
    task: str,
    payloads: Sequence[BaseModel],
    *,
    account_id: UUID,
    priority: int | None = None,
    gate: str | None = None,
) -> list[UUID]:
    """Insert jobs without keys, in one statement, to be claimed in the order given; their ids."""
    declared = policy(task)
    job = _new(declared, account_id, priority=priority, gate=gate)
    ids = [uuid7() for _ in payloads]
    jobs.insert_many(connection, job, ids, [_json(declared, payload) for payload in payloads])
    return ids


def follow_up(connection: Connection, account_id: UUID, wanted: FollowUp) -> Inserted:
    """Insert a follow-up in the transaction that ends its predecessor."""
    return insert(
        connection,
        wanted.task,
        wanted.payload,
        account_id=account_id,
        key=wanted.key,
        priority=wanted.priority,
        lane=wanted.lane,
        gate=wanted.gate,
        due_at=wanted.due_at,
        total_items=wanted.total_items,
    )


def _new(
    declared: Policy,
    account_id: UUID,
    *,
    priority: int | None,
    gate: str | None,
    lane: str | None = None,
    key: str | None = None,
    due_at: datetime | None = None,
    job_id: UUID | None = None,
    total_items: int | None = None,
    payload: str = "",
) -> jobs.NewJob:
    gate = gate or declared.gate
    if gate is not None and GATE_MARK in gate:
        raise Misconfigured(f"A gate can't be named {gate!r}: the name must not hold {GATE_MARK!r}.")
    return jobs.NewJob(
        id=job_id or uuid7(),
        account_id=account_id,
        task=declared.task,
        lane=lane or declared.lane,
        bucket=declared.task if gate is None else f"{declared.task}{GATE_MARK}{gate}",
        priority=declared.priority if priority is None else priority,
        key=key,
        max_attempts=declared.attempt_limit,
        max_recoveries=declared.max_recoveries,
        due_at=due_at,
        total_items=total_items,
        payload=payload,
    )


def _json(declared: Policy, payload: BaseModel) -> str:
    if not isinstance(payload, declared.payload):
        raise TypeError(f"{declared.task} takes {declared.payload.__name__}, not {type(payload).__name__}")
    return payload.model_dump_json()
