-- Queues for Dagster these versions, and the runs that have just completed (`fresh`). Dagster knows processes of schedulers,
-- and datasets with a Headrace key: no asset key has a `#`. Further successes of a run that is still queued update the
-- entry: its last one is reported. What Dagster has from another source, a run or an output of events, is not repeated.
WITH live AS MATERIALIZED (
    SELECT completion.event_key, at, run_id, process_id, other.is_known AND NOT EXISTS (
               SELECT FROM catalog.pending_materialization waiting
               WHERE waiting.organisation_id = %(organisation)s AND waiting.completion_id = completion.run_id
               OFFSET 0
           ) AS is_delivered, other.by_events
    FROM unnest(%(completions)s::text[]) AS completed (event_key)
    CROSS JOIN LATERAL (
        SELECT *
        FROM catalog.completion
        WHERE organisation_id = %(organisation)s AND completion.event_key = completed.event_key AND NOT historical
        OFFSET 0 -- this and what follows by the index, whatever statistics the planner has
    ) completion
    CROSS JOIN LATERAL (
        SELECT count(*) > 0 AS is_known, coalesce(bool_and(starts_with(other.event_key, 'openlineage/')), false) AS by_events
        FROM catalog.completion other
        WHERE other.run_id = completion.run_id
          AND other.event_key NOT IN (SELECT unnest(%(fresh)s::text[])) -- hashed once, which an array is not
          AND NOT other.historical
    ) other
), found AS (
    SELECT 'DATASET' AS subject_type, version.dataset_id AS subject_id, version.partition_key, event_key, at, run_id, version_id
    FROM jsonb_to_recordset(%(versions)s) AS item (event_key text, version_id uuid)
    JOIN live USING (event_key)
    CROSS JOIN LATERAL (
        SELECT * FROM catalog.dataset_version written WHERE written.dataset_version_id = item.version_id OFFSET 0
    ) version
    CROSS JOIN LATERAL (
        SELECT full_name FROM catalog.dataset WHERE dataset.dataset_id = version.dataset_id OFFSET 0
    ) dataset
    WHERE position('#' IN full_name) = 0
      AND NOT (is_delivered
               AND by_events
               AND starts_with(version.idempotency_key, 'reported/')
               AND version.partition_key = ''
               AND EXISTS (
                   SELECT FROM catalog.run_dataset used
                   JOIN catalog.dataset_name named USING (name_id)
                   WHERE used.organisation_id = %(organisation)s
                     AND used.run_id = live.run_id
                     AND used.role = 'OUTPUT'
                     AND named.dataset_id = version.dataset_id
                   OFFSET 0
               ))
    UNION ALL
    SELECT 'PROCESS', process_id, '', event_key, at, run_id, NULL
    FROM live
    JOIN catalog.process USING (process_id)
    WHERE event_key IN (SELECT unnest(%(fresh)s::text[])) AND external_name IS NOT NULL AND NOT is_delivered
)
INSERT INTO catalog.pending_materialization AS known (
    organisation_id, subject_type, subject_id, partition_key, event_key, at, run_id, version_id
)
SELECT DISTINCT ON (coalesce(version_id, run_id))
       %(organisation)s::uuid, subject_type, subject_id, partition_key, event_key, at, run_id, version_id
FROM found
ORDER BY coalesce(version_id, run_id), at DESC, event_key DESC
ON CONFLICT (organisation_id, completion_id) DO UPDATE SET
    event_key = excluded.event_key,
    at = excluded.at,
    run_id = excluded.run_id,
    changed_at = now()
WHERE (excluded.at, excluded.event_key) > (known.at, known.event_key)
