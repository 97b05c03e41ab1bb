"""The claim: the best runnable job of a lane, taken by one worker in one statement.

The heads of all open buckets are read without a lock and merged in order; then one row is locked. Locking the heads
themselves would hide them from claimers at the same moment, who would pass over rows that nobody takes.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import text

from schema.engine import Database

#: Heads read per bucket: more claimers than this at the same moment and some have to look again.
HEADS = 16


class Taken(NamedTuple):
    """What a claim took."""

    job_id: UUID
    account_id: UUID
    task: str
    lane: str
    key: str | None
    fence: int
    attempts: int
    max_attempts: int | None
    recoveries: int
    max_recoveries: int | None
    created_at: datetime
    started_at: datetime
    payload: dict[str, Any] | None


class Missed(NamedTuple):
    """Nothing was taken though heads were seen: others were faster. `gate` had no slot left, if one was in the way."""

    gate: str | None


# buckets: from bucket to bucket along the index, a few pages each, however many jobs they hold.
# open:    those whose task the worker knows and whose gate, if any, has a free slot.
# heads:   the first rows of each, unlocked, merged.
# picked:  the first of them that is still runnable and that nobody holds at this moment.
# slot:    a free slot of its gate. Counting running jobs instead would let two claims through at once.
_CLAIM = text(
    f"""
    WITH RECURSIVE buckets AS (
        (SELECT j.bucket FROM jobs j
         WHERE j.lane = :lane AND j.state = 'pending' AND j.ready
         ORDER BY j.bucket LIMIT 1)
        UNION ALL
        SELECT (SELECT j.bucket FROM jobs j
                WHERE j.lane = :lane AND j.state = 'pending' AND j.ready AND j.bucket > b.bucket
                ORDER BY j.bucket LIMIT 1)
        FROM buckets b WHERE b.bucket IS NOT NULL
    ), known AS (
        SELECT b.bucket, split_part(b.bucket, '@', 1) AS task,
               nullif(substr(b.bucket, length(split_part(b.bucket, '@', 1)) + 2), '') AS gate
        FROM buckets b WHERE b.bucket IS NOT NULL
    ), open AS MATERIALIZED (
        SELECT k.bucket, k.gate FROM known k
        WHERE k.task = ANY (CAST(:tasks AS text[]))
          AND (k.gate IS NULL
               OR (k.gate <> ALL (CAST(:shut AS text[]))
                   AND EXISTS (SELECT FROM gate_slots s WHERE s.gate = k.gate AND s.job_id IS NULL)))
    ), heads AS MATERIALIZED (
        SELECT h.*, o.gate FROM open o CROSS JOIN LATERAL (
            SELECT j.id, j.priority, j.turn, j.created_at FROM jobs j
            WHERE j.lane = :lane AND j.bucket = o.bucket AND j.state = 'pending' AND j.ready
              AND (:suspects OR j.recoveries = 0)
            ORDER BY j.priority, j.turn, j.created_at, j.id LIMIT {HEADS}
        ) h
        ORDER BY h.priority, h.turn, h.created_at, h.id LIMIT {HEADS}
    ), picked AS MATERIALIZED (
        SELECT j.id, h.gate FROM heads h JOIN jobs j ON j.id = h.id
        WHERE j.state = 'pending' AND j.ready
        ORDER BY h.priority, h.turn, h.created_at, h.id LIMIT 1
        FOR UPDATE OF j SKIP LOCKED
    ), slot AS MATERIALIZED (
        SELECT s.gate, s.n FROM picked p JOIN gate_slots s ON s.gate = p.gate
        WHERE s.job_id IS NULL
        ORDER BY s.n LIMIT 1
        FOR UPDATE OF s SKIP LOCKED
    ), occupied AS (
        UPDATE gate_slots s SET job_id = p.id FROM picked p, slot o WHERE s.gate = o.gate AND s.n = o.n
    ), taken AS (
        UPDATE jobs j
        SET state = 'running', fence = j.fence + 1, attempts = j.attempts + 1, worker_id = :worker_id,
            started_at = clock_timestamp(), progress_at = clock_timestamp()
        FROM picked p
        WHERE j.id = p.id AND (p.gate IS NULL OR EXISTS (SELECT FROM slot))
        RETURNING j.id, j.account_id, j.task, j.lane, j.key, j.fence, j.attempts, j.max_attempts, j.recoveries,
                  j.max_recoveries, j.created_at, j.started_at
    )
    SELECT t.*, EXISTS (SELECT FROM heads), (SELECT p.gate FROM picked p),
           set_config('longhaul.account_id', coalesce(CAST(t.account_id AS text), ''), true),
           set_config('longhaul.job_id', coalesce(CAST(t.id AS text), ''), true)
    FROM (VALUES (1)) AS always(one) LEFT JOIN taken t ON true
    """  # noqa: S608  HEADS is a number of ours
)

# Runs in the scope of the account whose job was just taken: its policy hides every other account's bodies (I11).
_PAYLOAD = text(
    "SELECT b.payload FROM job_bodies b "
    "WHERE b.job_id = CAST(nullif(current_setting('longhaul.job_id', true), '') AS uuid)"
)


def take(
    database: Database, *, worker_id: UUID, lane: str, tasks: Collection[str], suspects: bool, shut: Collection[str]
) -> Taken | Missed | None:
    """Take the best runnable job of the lane; None when there is none.

    Order: priority, turn, created_at, id. `suspects` False passes over jobs that were recovered before; `shut` names
    gates to pass over.
    """
    with database.engine_trip() as trip:
        claimed = trip.send(
            _CLAIM,
            {
                "lane": lane,
                "tasks": list(tasks),
                "shut": list(shut),
                "suspects": suspects,
                "worker_id": worker_id,
            },
        )
        body = trip.send(_PAYLOAD, {})
    row = claimed.fetchone()
    assert row is not None  # noqa: S101  the statement always answers one row
    *job, seen, gate = row[:-2]
    if job[0] is not None:
        payload = body.fetchone()
        return Taken._make([*job, payload and payload[0]])
    return Missed(gate) if seen else None
