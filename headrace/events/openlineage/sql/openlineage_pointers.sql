-- The published versions of these datasets. If only such runs write them, the moves from `since` on are the versions
-- since then. Otherwise a version that is newer than the published one moves the pointer now.
WITH place AS MATERIALIZED (
    SELECT item.*, position('#' IN full_name) > 0 AND NOT EXISTS (
               SELECT FROM catalog.pointer_move move WHERE move.dataset_id = item.dataset_id AND kind = 'ROLLBACK'
           ) AS derived
    FROM jsonb_to_recordset(%(places)s) AS item (dataset_id uuid, since timestamptz)
    JOIN catalog.dataset USING (dataset_id)
), last AS MATERIALIZED (
    SELECT place.*, coalesce(move.generation, 0) AS generation, move.dataset_version_id, current_version.produced_at
    FROM place
    LEFT JOIN LATERAL (
        SELECT generation, dataset_version_id
        FROM catalog.pointer_move
        WHERE dataset_id = place.dataset_id AND partition_key = ''
        ORDER BY generation DESC
        LIMIT 1
    ) move ON true
    LEFT JOIN catalog.dataset_version current_version USING (dataset_version_id)
), move AS MATERIALIZED (
    SELECT last.dataset_id, version.dataset_version_id, version.produced_by_run_id AS run_id,
           last.generation + row_number() OVER of_dataset AS generation,
           coalesce(lag(version.dataset_version_id) OVER of_dataset, last.dataset_version_id) AS previous_version_id,
           version.produced_at AS moved_at
    FROM last
    CROSS JOIN LATERAL (
        SELECT *
        FROM catalog.dataset_version written
        WHERE written.dataset_id = last.dataset_id AND written.partition_key = '' AND written.produced_at >= last.since
        OFFSET 0 -- by the dataset's index, whatever statistics the planner has
    ) version
    WHERE last.derived AND version.outcome = 'PUBLISHED'
    WINDOW of_dataset AS (PARTITION BY last.dataset_id ORDER BY version.produced_at, version.version_tag COLLATE "C")
    UNION ALL
    SELECT * FROM (
        SELECT DISTINCT ON (last.dataset_id) last.dataset_id, version.dataset_version_id, version.produced_by_run_id,
               last.generation + 1, last.dataset_version_id, clock_timestamp()
        FROM last
        CROSS JOIN LATERAL (
            SELECT *
            FROM catalog.dataset_version written
            WHERE written.dataset_id = last.dataset_id AND written.partition_key = '' AND written.produced_at >= last.since
            OFFSET 0
        ) version
        WHERE NOT last.derived
          AND version.outcome = 'PUBLISHED'
          AND (last.produced_at IS NULL OR version.produced_at > last.produced_at)
        ORDER BY last.dataset_id, version.produced_at DESC, version.version_tag COLLATE "C" DESC
    ) newest
), history AS (
    INSERT INTO catalog.pointer_move (
        dataset_id, partition_key, generation, organisation_id, dataset_version_id, previous_version_id, kind, run_id, moved_at
    )
    SELECT dataset_id, '', generation, %(organisation)s, dataset_version_id, previous_version_id, 'PUBLISH', run_id, moved_at
    FROM move
), current_version AS (
    -- The last move; if the end of the history was deleted and nothing followed, that is an earlier one.
    SELECT DISTINCT ON (dataset_id) dataset_id, dataset_version_id, generation, moved_at
    FROM (
        SELECT dataset_id, dataset_version_id, generation, moved_at FROM move
        UNION ALL
        SELECT last.dataset_id, last.dataset_version_id, last.generation, old.moved_at
        FROM last
        JOIN catalog.pointer_move old
            ON old.dataset_id = last.dataset_id AND old.partition_key = '' AND old.generation = last.generation
    ) moved
    ORDER BY dataset_id, generation DESC
)
INSERT INTO catalog.published_pointer AS known (
    dataset_id, partition_key, organisation_id, dataset_version_id, generation, moved_at
)
SELECT dataset_id, '', %(organisation)s, dataset_version_id, generation, moved_at
FROM current_version
ORDER BY dataset_id
ON CONFLICT (dataset_id, partition_key) DO UPDATE SET
    dataset_version_id = excluded.dataset_version_id,
    generation = excluded.generation,
    moved_at = excluded.moved_at
WHERE known.generation <> excluded.generation OR known.dataset_version_id IS DISTINCT FROM excluded.dataset_version_id
