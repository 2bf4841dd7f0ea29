-- What is to be told of these completions: the newest of each process, and of each dataset and partition the version that
-- readers now get. What else is said of the run or version that is there already is not told again.
WITH said AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(completions)s) AS item (
        event_key text, at timestamptz, run_id uuid, subject_type text, subject_id uuid, partition_key text,
        version_id uuid
    )
), newest AS (
    SELECT DISTINCT ON (subject_id, partition_key) said.*
    FROM said
    LEFT JOIN catalog.published_pointer pointer
        ON pointer.dataset_id = said.subject_id AND pointer.partition_key = said.partition_key
    WHERE subject_type = 'PROCESS' OR pointer.dataset_version_id = said.version_id
    ORDER BY subject_id, partition_key, at DESC, event_key COLLATE "C" DESC
)
INSERT INTO catalog.announcement AS known (
    organisation_id, subject_id, partition_key, subject_type, event_key, at, run_id, version_id
)
SELECT %(organisation)s, subject_id, partition_key, subject_type, event_key, at, run_id, version_id
FROM newest
ORDER BY subject_id, partition_key
ON CONFLICT (organisation_id, subject_id, partition_key) DO UPDATE SET
    event_key = excluded.event_key,
    at = excluded.at,
    run_id = excluded.run_id,
    version_id = excluded.version_id,
    state = CASE WHEN known.version_id IS NULL AND known.run_id = excluded.run_id THEN known.state ELSE 'WAITING' END,
    changed_at = now()
WHERE known.version_id IS DISTINCT FROM excluded.version_id
   OR (known.version_id IS NULL AND (excluded.at, excluded.event_key) > (known.at, known.event_key))
