-- A live attempt holds its lock; the lock taken here as a test is released at the end of the transaction.
UPDATE catalog.run_attempt SET state = 'LOST'
FROM catalog.process_run run, catalog.process
WHERE run_attempt.organisation_id = %(organisation)s
  AND run_attempt.state = 'RUNNING'
  AND run_attempt.lock_key IS NOT NULL
  AND (%(run_id)s::uuid IS NULL OR run_attempt.run_id = %(run_id)s)
  AND run.run_id = run_attempt.run_id
  AND run.start_ts = run_attempt.run_start_ts
  AND process.process_id = run.process_id
  AND pg_try_advisory_xact_lock(run_attempt.lock_key)
RETURNING run_attempt.run_id, run_attempt.attempt, process.process_key
