-- Progress of a run: it lives, and so many of its items are done. Locks its row until the transaction ends.
-- False when the fence is stale: the job is not running under it (I2).
CREATE FUNCTION move_progress(account uuid, job_id_ uuid, fence_ bigint, done integer, total integer)
RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('longhaul.account_id', CAST(account AS text), true);
    UPDATE jobs j
    SET progress_at = clock_timestamp(), done_items = coalesce(done, j.done_items),
        total_items = coalesce(total, j.total_items)
    WHERE j.id = job_id_ AND j.fence = fence_ AND j.state = 'running';
    RETURN FOUND;
END $$;
