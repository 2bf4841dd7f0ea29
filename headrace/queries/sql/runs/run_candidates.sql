-- Runs whose id, or one of whose Dagster run ids, has the prefix, and external runs with this run number or reported id.
-- `lower` and `upper` bound the prefix as a UUID.
SELECT run.run_id, run.start_ts, 'run' AS kind, run.run_id::text AS id
FROM catalog.process_run run
WHERE run.organisation_id = %(organisation)s AND run.run_id BETWEEN %(lower)s::uuid AND %(upper)s::uuid
UNION
SELECT attempt.run_id, attempt.run_start_ts, 'dagster', attempt.dagster_run_id
FROM catalog.run_attempt attempt
WHERE attempt.organisation_id = %(organisation)s
  AND attempt.dagster_run_id >= %(prefix)s AND attempt.dagster_run_id < %(prefix)s || '~'
UNION
SELECT run.run_id, run.start_ts, 'dagster', run.root_dagster_run_id
FROM catalog.process_run run
WHERE run.organisation_id = %(organisation)s
  AND run.root_dagster_run_id >= %(prefix)s AND run.root_dagster_run_id < %(prefix)s || '~'
UNION
SELECT run.run_id, run.start_ts, 'number', run.facets_json ->> 'external_run'
FROM catalog.process_run run
WHERE run.organisation_id = %(organisation)s
  AND run.facets_json ? 'external_run'
  AND run.facets_json ->> 'external_run' = %(number)s
UNION
SELECT run.run_id, run.start_ts, 'reported', reported.reported_run_id::text
FROM catalog.openlineage_run reported
JOIN catalog.process_run run USING (organisation_id, run_id)
WHERE reported.organisation_id = %(organisation)s
  AND reported.reported_run_id = %(lower)s::uuid AND %(lower)s::uuid = %(upper)s::uuid
  AND reported.run_id <> reported.reported_run_id
ORDER BY start_ts, run_id
LIMIT 1000
