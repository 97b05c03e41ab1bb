"""What the relay asks: which jobs became due, and how many of each task could run now."""

from datetime import timedelta

from sqlalchemy import Connection, text

from schema.engine import Database

# Chosen by due time, locked by id; those that a cancel holds at this moment wait for the next look.
_PROMOTE = text(
    """
    WITH due AS MATERIALIZED (
        SELECT j.id FROM jobs j
        WHERE j.lane = :lane AND j.state = 'pending' AND NOT j.ready AND j.due_at <= now()
        ORDER BY j.due_at LIMIT :limit
    ), locked AS MATERIALIZED (
        SELECT j.id FROM jobs j
        WHERE j.id = ANY (ARRAY (SELECT due.id FROM due)) AND j.state = 'pending' AND NOT j.ready
        ORDER BY j.id FOR UPDATE SKIP LOCKED
    )
    UPDATE jobs j SET ready = true FROM locked WHERE j.id = locked.id RETURNING j.id
    """
)

_TURN = text("SELECT pg_try_advisory_xact_lock(hashtext('longhaul relay'), hashtext(:lane))")

# A full gate counts for nothing, however many jobs wait behind it. A task no live worker knows wakes nobody.
_RUNNABLE = text(
    """
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
    ), room AS MATERIALIZED (
        SELECT k.bucket, k.task,
               CASE WHEN k.gate IS NULL THEN CAST(:limit AS bigint)
                    ELSE least(:limit, (SELECT count(*) FROM gate_slots s WHERE s.gate = k.gate AND s.job_id IS NULL))
               END AS most
        FROM known k
        WHERE EXISTS (
            SELECT FROM workers w
            WHERE CAST(:lane AS text) = ANY (w.lanes) AND k.task = ANY (w.tasks) AND w.retired_at IS NULL
              AND w.beat_at > now() - CAST(:within AS interval))
    )
    SELECT r.task, sum(c.n)
    FROM room r CROSS JOIN LATERAL (
        SELECT count(*) AS n FROM (
            SELECT FROM jobs j
            WHERE j.lane = :lane AND j.bucket = r.bucket AND j.state = 'pending' AND j.ready
            LIMIT r.most
        ) one
    ) c
    WHERE c.n > 0
    GROUP BY r.task ORDER BY r.task
    """
)


def promote_due(database: Database, lane: str, limit: int) -> int:
    """Make runnable what came due in the lane, the longest due first; how many did."""
    return len(database.ask_engine(_PROMOTE, {"lane": lane, "limit": limit}))


def take_turn(connection: Connection, lane: str) -> bool:
    """Be the lane's only relay until the transaction ends; False when another is."""
    mine: bool = connection.execute(_TURN, {"lane": lane}).scalar_one()
    return mine


def runnable(connection: Connection, lane: str, limit: int, within: timedelta) -> dict[str, int]:
    """Runnable jobs of the lane by task, each bucket counted up to `limit`.

    Only tasks that a worker knows whose last beat is younger than `within`; a gated bucket counts at most its gate's
    free slots.
    """
    counted = connection.execute(_RUNNABLE, {"lane": lane, "limit": limit, "within": within})
    return {task: int(n) for task, n in counted}
