-- In which months there is something to archive, and how much of each kind.
SELECT 'RUN' AS kind, date_trunc('month', start_ts) AS month, count(*) AS rows
FROM catalog.archivable_runs(%(organisation)s, %(before)s, '-infinity', 'infinity')
GROUP BY 2
UNION ALL
SELECT 'EVENT', date_trunc('month', event_time), count(*)
FROM catalog.run_event
WHERE organisation_id = %(organisation)s AND event_time < %(before)s
GROUP BY 2
UNION ALL
SELECT 'REPORT', date_trunc('month', event.at), count(*)
FROM catalog.reported_event event
WHERE organisation_id = %(organisation)s AND run_id IS NULL AND at < %(before)s
  AND NOT EXISTS (
      SELECT FROM catalog.pending_materialization
      WHERE pending_materialization.organisation_id = event.organisation_id
        AND pending_materialization.event_key = event.event_key
  )
GROUP BY 2
ORDER BY 1, 2
