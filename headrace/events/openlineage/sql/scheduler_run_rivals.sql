-- What else OpenLineage events are of that is one of these runs, or overlaps with it.
SELECT told.reported_run_id, told.process_id, told.run_id, told.document
FROM catalog.openlineage_run told
WHERE told.organisation_id = %(organisation)s AND told.run_id = ANY (%(runs)s::uuid[])
UNION
SELECT told.reported_run_id, told.process_id, told.run_id, told.document
FROM catalog.process_run run
JOIN catalog.openlineage_run told
    ON told.process_id = run.process_id
   AND told.organisation_id = run.organisation_id
   AND told.last_at >= run.start_ts
   AND (run.end_ts IS NULL OR told.first_at <= run.end_ts)
WHERE run.organisation_id = %(organisation)s
  AND run.run_id = ANY (%(runs)s::uuid[])
  AND run.facets_json ? 'external_run'
  AND told.reported_run_id <> told.process_id
  AND NOT told.native
