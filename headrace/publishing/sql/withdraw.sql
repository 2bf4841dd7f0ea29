-- Moves each of these pointers to the version that was withdrawn last under the dataset's present definition; to none
-- if there is no such version, or the partition is no longer declared.
WITH place AS MATERIALIZED (
    SELECT pointer.partition_key, pointer.dataset_version_id, item.declared
    FROM catalog.published_pointer pointer
    JOIN jsonb_to_recordset(%(partitions)s) AS item (partition_key text, declared boolean) USING (partition_key)
    WHERE pointer.dataset_id = %(dataset_id)s
    ORDER BY pointer.partition_key
    FOR NO KEY UPDATE OF pointer
), target AS MATERIALIZED (
    SELECT partition_key, place.dataset_version_id AS previous_version_id, earlier.version_id
    FROM place
    LEFT JOIN LATERAL (
        SELECT CASE WHEN expired.dataset_version_id IS NULL THEN move.previous_version_id END AS version_id
        FROM catalog.pointer_move move
        LEFT JOIN catalog.expired_version expired ON expired.dataset_version_id = move.previous_version_id
        WHERE place.declared
          AND move.dataset_id = %(dataset_id)s
          AND move.partition_key = place.partition_key
          AND move.previous_version_id IS NOT NULL
          AND move.former_definition = %(definition)s
        ORDER BY move.generation DESC
        LIMIT 1
    ) earlier ON true
    WHERE place.dataset_version_id IS DISTINCT FROM earlier.version_id
), moved AS (
    UPDATE catalog.published_pointer pointer
    SET dataset_version_id = target.version_id, generation = pointer.generation + 1,
        moved_at = greatest(clock_timestamp(), pointer.moved_at)
    FROM target
    WHERE pointer.dataset_id = %(dataset_id)s AND pointer.partition_key = target.partition_key
    RETURNING pointer.partition_key, pointer.generation, pointer.moved_at, target.version_id, target.previous_version_id
), history AS (
    INSERT INTO catalog.pointer_move (
        dataset_id, partition_key, generation, organisation_id, dataset_version_id, previous_version_id, kind, reason,
        former_definition, moved_at
    )
    SELECT %(dataset_id)s, partition_key, generation, %(organisation)s, version_id, previous_version_id,
           CASE WHEN version_id IS NULL THEN 'WITHDRAW' ELSE 'RESTORE' END,
           CASE WHEN version_id IS NULL THEN 'the declaration no longer has this partition'
                ELSE 'the declaration has this partition again' END,
           %(former)s::jsonb, moved_at
    FROM moved
), outbox AS (
    INSERT INTO catalog.outbox (organisation_id, topic, payload_json)
    SELECT %(organisation)s, CASE WHEN version_id IS NULL THEN 'version.withdrawn' ELSE 'version.restored' END,
           jsonb_build_object(
               'dataset', %(dataset)s::text, 'partition', nullif(partition_key, ''),
               'version_id', coalesce(version_id, previous_version_id), 'generation', generation)
    FROM moved
    ORDER BY partition_key
)
SELECT max(moved_at) AS moved_at FROM moved
