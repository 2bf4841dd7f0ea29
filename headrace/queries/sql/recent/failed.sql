-- Runs that have failed since a time and that no later run of the same process and partitions has made good, with the
-- reason of the last attempt.
SELECT run.run_id, process.process_key, process.technology, run.status AS state, run.start_ts AS started_at,
       run.end_ts AS ended_at, run.attempt, run.partitions,
       (SELECT attempt.reason FROM catalog.run_attempt AS attempt
        WHERE attempt.run_id = run.run_id ORDER BY attempt.attempt DESC LIMIT 1) AS reason
FROM catalog.process_run AS run
JOIN catalog.process USING (process_id)
WHERE run.organisation_id = %(organisation)s
  AND run.status IN ('FAILED', 'TERMINATED', 'LOST', 'BLOCKED')
  AND run.end_ts >= %(since)s
  AND NOT EXISTS (
      SELECT FROM catalog.process_run AS later
      WHERE later.process_id = run.process_id AND later.start_ts > run.start_ts
        AND later.partitions = run.partitions AND later.status = 'SUCCESS')
ORDER BY run.end_ts DESC, run.run_id
LIMIT %(limit)s
