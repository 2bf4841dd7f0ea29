-- Moves each of these pointers from its version to none, or from none to the version before it was withdrawn.
WITH place AS MATERIALIZED (
    SELECT pointer.partition_key, pointer.dataset_version_id, pointer.generation, move.kind AS last_kind,
           move.previous_version_id AS withdrawn_version_id
    FROM catalog.published_pointer pointer
    JOIN catalog.pointer_move move USING (dataset_id, partition_key, generation)
    WHERE pointer.dataset_id = %(dataset_id)s AND pointer.partition_key = ANY (%(partitions)s)
    ORDER BY pointer.partition_key
    FOR NO KEY UPDATE OF pointer
), target AS MATERIALIZED (
    SELECT partition_key, dataset_version_id AS previous_version_id,
           CASE WHEN dataset_version_id IS NULL THEN withdrawn_version_id END AS version_id
    FROM place
    WHERE dataset_version_id IS NOT NULL OR last_kind = 'WITHDRAW'
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
        moved_at
    )
    SELECT %(dataset_id)s, partition_key, generation, %(organisation)s, version_id, previous_version_id,
           CASE WHEN version_id IS NULL THEN 'WITHDRAW' ELSE 'RESTORE' END,
           CASE WHEN version_id IS NULL THEN 'the declaration no longer has this partition'
                ELSE 'the declaration has this partition again' END,
           moved_at
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
