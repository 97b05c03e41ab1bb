-- The end of a run that is done: its slot is freed and its result stored, inside its account (I4, I11).
-- No row when the fence is stale: the job is not running under it, and nothing is written (I2).
-- The account is named: to the engine's policy every account's jobs are its own.
CREATE FUNCTION complete_job(account uuid, job_id_ uuid, fence_ bigint, reason_ text, result_ jsonb)
RETURNS SETOF jobs
LANGUAGE plpgsql AS $$
DECLARE
    ended jobs;
BEGIN
    PERFORM set_config('longhaul.account_id', CAST(account AS text), true);
    UPDATE jobs j SET state = 'done', reason = reason_, error = NULL, finished_at = clock_timestamp()
    WHERE j.id = job_id_ AND j.account_id = account AND j.fence = fence_ AND j.state = 'running'
    RETURNING j.* INTO ended;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF ended.bucket <> ended.task THEN
        UPDATE gate_slots s SET job_id = NULL WHERE s.job_id = job_id_;
    END IF;
    IF result_ IS NOT NULL THEN
        UPDATE job_bodies b SET result = result_ WHERE b.job_id = job_id_;
    END IF;
    RETURN NEXT ended;
END $$;
