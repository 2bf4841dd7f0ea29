-- The runs of a time, by start; those of the process `box` are its children. A run that began a day before is not long
-- enough to be found.
SELECT run.run_id, process.process_key, process.technology, box.process_key AS box, run.status AS state,
       run.start_ts AS started_at, run.end_ts AS ended_at
FROM catalog.process_run AS run
JOIN catalog.process USING (process_id)
LEFT JOIN catalog.process AS box ON box.process_id = run.parent_process_id
WHERE run.organisation_id = %(organisation)s
  AND run.start_ts >= %(since)s - interval '1 day'
  AND run.start_ts < %(until)s
  AND (run.end_ts IS NULL OR run.end_ts >= %(since)s)
ORDER BY run.start_ts, run.run_id
LIMIT %(limit)s
