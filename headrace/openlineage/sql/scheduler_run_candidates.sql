-- Other runs of OpenLineage events that are one of these runs, name it, have its id, or overlap with it.
SELECT reported.reported_run_id, reported.process_id, reported.run_id, reported.document
FROM catalog.openlineage_run reported
WHERE reported.organisation_id = %(organisation)s AND reported.run_id = ANY (%(runs)s::uuid[])
UNION
SELECT reported.reported_run_id, reported.process_id, reported.run_id, reported.document
FROM catalog.openlineage_run reported
WHERE reported.organisation_id = %(organisation)s AND reported.named_run_id = ANY (%(runs)s::uuid[])
UNION
SELECT reported.reported_run_id, reported.process_id, reported.run_id, reported.document
FROM catalog.openlineage_run reported
WHERE reported.organisation_id = %(organisation)s
  AND reported.reported_run_id = ANY (%(runs)s::uuid[])
  AND reported.reported_run_id <> reported.process_id
  AND NOT reported.native
UNION
SELECT reported.reported_run_id, reported.process_id, reported.run_id, reported.document
FROM catalog.process_run run
JOIN catalog.openlineage_run reported
    ON reported.process_id = run.process_id
   AND reported.organisation_id = run.organisation_id
   AND reported.last_at >= run.start_ts
   AND (run.end_ts IS NULL OR reported.first_at <= run.end_ts)
WHERE run.organisation_id = %(organisation)s
  AND run.run_id = ANY (%(runs)s::uuid[])
  AND run.facets_json ? 'external_run'
  AND reported.reported_run_id <> reported.process_id
  AND NOT reported.native
