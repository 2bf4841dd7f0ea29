-- The history of a dataset's pointers, after the old one was deleted: these moves, of which the last of each partition
-- counts.
WITH move AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(moves)s) AS item (
        partition_key text, generation int, organisation_id uuid, dataset_version_id uuid, previous_version_id uuid,
        kind text, run_id uuid, moved_by text, reason text, moved_at timestamptz
    )
), history AS (
    INSERT INTO catalog.pointer_move (
        dataset_id, partition_key, generation, organisation_id, dataset_version_id, previous_version_id, kind, run_id,
        moved_by, reason, moved_at
    )
    SELECT %(dataset_id)s::uuid, partition_key, generation, organisation_id, dataset_version_id, previous_version_id, kind,
           run_id, moved_by, reason, moved_at
    FROM move
)
INSERT INTO catalog.published_pointer AS known (
    dataset_id, partition_key, organisation_id, dataset_version_id, generation, moved_at
)
SELECT DISTINCT ON (partition_key) %(dataset_id)s::uuid, partition_key, organisation_id, dataset_version_id, generation,
       moved_at
FROM move
ORDER BY partition_key, generation DESC
ON CONFLICT (dataset_id, partition_key) DO UPDATE SET
    dataset_version_id = excluded.dataset_version_id,
    generation = excluded.generation,
    moved_at = excluded.moved_at
