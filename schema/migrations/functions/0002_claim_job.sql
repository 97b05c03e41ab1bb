-- The claim: the best runnable job of a lane, for one worker, in one statement of the client.
--
-- A bucket is a task, or a task with its gate ("task@gate"). It is open when it has no gate, or when its gate has a free
-- slot. The heads of the open buckets are read without a lock and merged in order; then the first that is still
-- runnable, and that nobody holds at this moment, is locked. Locking the heads themselves would hide them from claimers
-- at the same moment, who would pass over jobs that nobody takes.
--
-- Answers one row: the job as it is now held, with its payload; or no job, and whether heads were `seen` (others were
-- faster: look again), and which gate's last slot went meanwhile (look again, past it: put it into `shut`).
-- Nothing may stay locked that is not taken, so this returns at once instead of trying the next head.
CREATE FUNCTION claim_job(lane_ text, tasks text[], shut text[], suspects boolean, worker uuid)
RETURNS TABLE (job jobs, payload jsonb, seen boolean, gate text)
LANGUAGE plpgsql AS $$
DECLARE
    open text[] := tasks;
    known text;
    bucket_ text;
    head record;
BEGIN
    -- Gated buckets, from one to the next along the index: a few pages each, however many jobs wait in them.
    FOREACH known IN ARRAY tasks LOOP
        bucket_ := known || '@';
        LOOP
            SELECT j.bucket INTO bucket_ FROM jobs j
            WHERE j.lane = lane_ AND j.bucket > bucket_ AND j.bucket < known || 'A'  -- the letter after '@'
              AND j.state = 'pending' AND j.ready
            ORDER BY j.bucket LIMIT 1;
            EXIT WHEN NOT FOUND;
            gate := split_part(bucket_, '@', 2);
            IF gate <> ALL (shut) AND EXISTS (SELECT FROM gate_slots s WHERE s.gate = claim_job.gate AND s.job_id IS NULL)
            THEN
                open := open || bucket_;
            END IF;
        END LOOP;
    END LOOP;

    gate := NULL;
    seen := false;
    FOR head IN
        SELECT h.id, h.bucket FROM unnest(open) AS o(bucket) CROSS JOIN LATERAL (
            SELECT j.id, j.bucket, j.priority, j.turn, j.created_at FROM jobs j
            WHERE j.lane = lane_ AND j.bucket = o.bucket AND j.state = 'pending' AND j.ready
              AND (suspects OR j.recoveries = 0)
            ORDER BY j.priority, j.turn, j.created_at, j.id LIMIT 16
        ) h
        ORDER BY h.priority, h.turn, h.created_at, h.id LIMIT 16
    LOOP
        seen := true;
        PERFORM FROM jobs j WHERE j.id = head.id AND j.state = 'pending' AND j.ready FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;

        gate := nullif(split_part(head.bucket, '@', 2), '');
        IF gate IS NOT NULL THEN
            -- Counting the jobs inside instead would let two claims through at once.
            UPDATE gate_slots s SET job_id = head.id
            WHERE s.gate = claim_job.gate AND s.n = (
                SELECT f.n FROM gate_slots f WHERE f.gate = claim_job.gate AND f.job_id IS NULL
                ORDER BY f.n LIMIT 1 FOR UPDATE SKIP LOCKED
            );
            EXIT WHEN NOT FOUND;
        END IF;

        -- The statement's time: a claimer that had to wait for the processor did not start later than it asked.
        UPDATE jobs j
        SET state = 'running', fence = j.fence + 1, attempts = j.attempts + 1, worker_id = worker,
            started_at = statement_timestamp(), progress_at = clock_timestamp()
        WHERE j.id = head.id
        RETURNING j.* INTO job;

        -- From here in the scope of the job's account, whose policy hides every other account's bodies (I11).
        PERFORM set_config('longhaul.account_id', CAST(job.account_id AS text), true);
        SELECT b.payload INTO payload FROM job_bodies b WHERE b.job_id = job.id;
        EXIT;
    END LOOP;
    RETURN NEXT;
END $$;
