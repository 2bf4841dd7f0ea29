-- The run's state is that of its newest attempt.
WITH ended AS (
    UPDATE catalog.run_attempt
    SET state = %(state)s, end_ts = clock_timestamp(), reason = %(reason)s, failure_kind = %(failure_kind)s
    WHERE run_id = %(run_id)s AND attempt = %(attempt)s
    RETURNING run_id, run_start_ts, attempt, end_ts
)
UPDATE catalog.process_run run SET status = %(state)s, end_ts = ended.end_ts
FROM ended
WHERE run.run_id = ended.run_id AND run.start_ts = ended.run_start_ts AND run.attempt = ended.attempt
