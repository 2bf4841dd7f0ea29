-- The runs of a time, by start; those of the process `box` are its children. A run that began a day before is not long
-- enough to be found.
SELECT run.run_id, process.process_key, process.technology, box.process_key AS box, run.status AS state,
       run.start_ts AS started_at, run.end_ts AS ended_at
FROM (
    SELECT run_id, process_id, parent_process_id, status, start_ts, end_ts
    FROM catalog.process_run
    WHERE organisation_id = %(organisation)s
      AND start_ts >= %(since)s - interval '1 day'
      AND start_ts < %(until)s
      AND (end_ts IS NULL OR end_ts >= %(since)s)
      AND (%(words)s = '' OR process_id IN (
          SELECT process_id FROM catalog.process
          WHERE organisation_id = %(organisation)s AND position(%(words)s IN lower(process_key)) > 0))
    ORDER BY start_ts, run_id
    LIMIT %(limit)s
) AS run
JOIN catalog.process USING (process_id)
LEFT JOIN catalog.process AS box ON box.process_id = run.parent_process_id
ORDER BY run.start_ts, run.run_id
