-- Runs that ended since a time, the oldest first.
SELECT run.process_id, run.run_id, run.start_ts AS started_at, run.end_ts AS ended_at, run.status, newest.failure_kind
FROM catalog.process_run run
LEFT JOIN LATERAL (
    SELECT failure_kind FROM catalog.run_attempt attempt
    WHERE attempt.run_id = run.run_id ORDER BY attempt.attempt DESC LIMIT 1
) newest ON true
WHERE run.organisation_id = %(organisation)s AND run.end_ts >= %(since)s AND run.start_ts >= %(since)s - interval '7 days'
  AND run.status IN ('SUCCESS', 'FAILED', 'BLOCKED', 'LOST', 'TERMINATED', 'SKIPPED')
ORDER BY run.start_ts, run.run_id
