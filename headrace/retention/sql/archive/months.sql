-- The months with rows to archive, and their number by kind. Scheduler reports of runs are archived with them.
WITH run AS MATERIALIZED (
    SELECT * FROM catalog.archivable_runs(%(organisation)s, %(before)s, '-infinity', 'infinity')
)
SELECT 'RUN' AS kind, date_trunc('month', start_ts) AS month, count(*) AS rows
FROM run
GROUP BY 2
UNION ALL
SELECT 'EVENT', date_trunc('month', event_time), count(*)
FROM catalog.run_event event
WHERE organisation_id = %(organisation)s
  AND (event_time < %(before)s
       AND (source IS DISTINCT FROM 'SCHEDULER'
            OR run_id IS NULL
            OR NOT EXISTS (SELECT FROM catalog.process_run known WHERE known.run_id = event.run_id))
       OR source = 'SCHEDULER' AND run_id IN (SELECT run_id FROM run))
GROUP BY 2
ORDER BY 1, 2
