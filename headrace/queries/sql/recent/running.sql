SELECT run.run_id, process.process_key, process.technology, run.status AS state, run.start_ts AS started_at,
       run.end_ts AS ended_at, run.attempt, run.partitions, NULL AS reason
FROM catalog.process_run AS run
JOIN catalog.process USING (process_id)
WHERE run.organisation_id = %(organisation)s AND run.status = 'RUNNING'
ORDER BY run.start_ts DESC, run.run_id
LIMIT %(limit)s
