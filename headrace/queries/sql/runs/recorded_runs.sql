-- The runs of jobs of an instance that began in a period, with the exit code and the state of the last attempt.
SELECT external_name, attempt.state, attempt.ending, attempt.exit_code,
       extract(epoch FROM run.start_ts)::float8 AS started_at, extract(epoch FROM attempt.end_ts)::float8 AS ended_at
FROM catalog.process
JOIN catalog.process_run run USING (process_id)
JOIN LATERAL (
    SELECT * FROM catalog.run_attempt WHERE run_attempt.run_id = run.run_id ORDER BY attempt DESC LIMIT 1
) attempt ON true
WHERE process.organisation_id = %(organisation)s
  AND process.technology = 'AUTOSYS'
  AND process.instance = %(instance)s
  AND run.start_ts >= %(since)s
  AND run.start_ts < %(until)s
  AND attempt.state IN ('SUCCESS', 'FAILED', 'TERMINATED', 'RUNNING')
ORDER BY run.start_ts, external_name
