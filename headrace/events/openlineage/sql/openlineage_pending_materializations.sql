-- Queues for Dagster the runs that have just completed, if it knows their process and no other source has reported
-- them, and their published versions: all versions of a run that has just completed, and the new ones of others. No
-- asset key has a `#`.
WITH live AS MATERIALIZED (
    SELECT event_key, at, run_id, process_id, event_key = ANY (%(fresh)s::text[]) AS is_fresh
    FROM catalog.completion
    WHERE organisation_id = %(organisation)s AND event_key = ANY (%(completions)s::text[]) AND NOT historical
)
INSERT INTO catalog.pending_materialization AS known (
    organisation_id, subject_type, subject_id, partition_key, event_key, at, run_id, version_id
)
SELECT %(organisation)s, 'DATASET', version.dataset_id, version.partition_key, event_key, at, run_id,
       version.dataset_version_id
FROM live
CROSS JOIN LATERAL (
    SELECT *
    FROM catalog.dataset_version written
    WHERE written.produced_by_run_id = live.run_id
      AND (is_fresh OR written.dataset_version_id = ANY (%(versions)s::uuid[]))
    OFFSET 0 -- by the run's index, whatever statistics the planner has
) version
WHERE starts_with(version.idempotency_key, 'openlineage/')
  AND version.outcome = 'PUBLISHED'
  AND position('#' IN (SELECT full_name FROM catalog.dataset WHERE dataset.dataset_id = version.dataset_id)) = 0
UNION ALL
SELECT %(organisation)s, 'PROCESS', process_id, '', event_key, at, run_id, NULL
FROM live
JOIN catalog.process USING (process_id)
WHERE is_fresh
  AND external_name IS NOT NULL
  AND (EXISTS (
          SELECT FROM catalog.pending_materialization waiting
          WHERE waiting.organisation_id = %(organisation)s AND waiting.completion_id = live.run_id
      )
      OR NOT EXISTS (
          SELECT FROM catalog.completion other
          WHERE other.run_id = live.run_id AND other.event_key <> live.event_key AND NOT other.historical
      ))
ON CONFLICT (organisation_id, completion_id) DO UPDATE SET
    event_key = excluded.event_key,
    at = excluded.at,
    changed_at = now()
WHERE known.subject_type = 'PROCESS' AND (excluded.at, excluded.event_key) > (known.at, known.event_key)
