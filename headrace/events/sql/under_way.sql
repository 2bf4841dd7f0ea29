-- The attempts of a scheduler's runs that had started at a moment and not ended, without statuses set by an operator.
SELECT process.external_name AS process, run.facets_json ->> 'external_run' AS run, attempt.attempt, attempt.state,
       attempt.start_ts AS began, attempt.host AS machine
FROM catalog.process
JOIN catalog.process_run run USING (process_id)
JOIN catalog.run_attempt attempt USING (run_id)
WHERE process.organisation_id = %(organisation)s
  AND process.technology = %(technology)s
  AND process.instance IN (%(instance)s, '')
  AND run.start_ts BETWEEN %(at)s::timestamptz - interval '2 days' AND %(at)s
  AND run.facets_json ->> 'external_run' IS NOT NULL
  AND attempt.attempt > 0
  AND attempt.start_ts < %(at)s
  AND (attempt.end_ts IS NULL OR attempt.end_ts >= %(at)s)
ORDER BY process.instance, process.external_name, attempt.start_ts
