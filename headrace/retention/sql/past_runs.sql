SELECT run.run_id, process.process_key, process.technology, run.status AS state, run.start_ts, run.end_ts, run.attempt,
       run.partitions, run.facets_json ->> 'external_run' AS external_run, run.root_dagster_run_id, run.parent_run_id,
       run.log_location, run.historical, NULL::text AS location
FROM catalog.process_run run
JOIN catalog.process USING (process_id)
WHERE run.organisation_id = %(organisation)s
  AND (%(process)s::text IS NULL OR process.process_key = %(process)s)
  AND (%(state)s::text IS NULL OR run.status = %(state)s)
  AND (%(lower)s::uuid IS NULL OR run.run_id BETWEEN %(lower)s AND %(upper)s)
  AND run.start_ts >= %(since)s
  AND run.start_ts < %(until)s
  AND (%(before_at)s::timestamptz IS NULL
       OR run.start_ts < %(before_at)s
       OR (run.start_ts = %(before_at)s AND run.run_id > %(before_id)s::uuid))
ORDER BY run.start_ts DESC, run.run_id
LIMIT %(most)s
