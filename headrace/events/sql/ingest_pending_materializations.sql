-- Queues these completions for Dagster: each run without a known live success, and each version. Further reports of a
-- run that is still queued update the entry: its last success is reported.
WITH completed AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(completions)s) AS item (
        event_key text, at timestamptz, run_id uuid, subject_type text, subject_id uuid, partition_key text,
        version_id uuid
    )
), fresh AS (
    SELECT DISTINCT ON (coalesce(version_id, run_id)) completed.*
    FROM completed
    WHERE subject_type = 'DATASET'
       OR EXISTS (
           SELECT FROM catalog.pending_materialization waiting
           WHERE waiting.organisation_id = %(organisation)s AND waiting.completion_id = completed.run_id
       )
       OR NOT EXISTS (
           SELECT FROM catalog.completion known
           WHERE known.run_id = completed.run_id
             AND NOT known.historical
             AND known.event_key NOT IN (SELECT news.event_key FROM completed news)
       )
    ORDER BY coalesce(version_id, run_id), at DESC, event_key COLLATE "C" DESC
)
INSERT INTO catalog.pending_materialization AS known (
    organisation_id, subject_id, partition_key, subject_type, event_key, at, run_id, version_id
)
SELECT %(organisation)s, subject_id, partition_key, subject_type, event_key, at, run_id, version_id
FROM fresh
ORDER BY coalesce(version_id, run_id)
ON CONFLICT (organisation_id, completion_id) DO UPDATE SET
    event_key = excluded.event_key,
    at = excluded.at,
    run_id = excluded.run_id,
    changed_at = now()
WHERE (excluded.at, excluded.event_key) > (known.at, known.event_key)
