-- Stores the new versions, and moves each pointer to the newest one reported for its place, unless it already points to
-- a newer one. The pointers are locked (reserve.sql). Moves have the time at which the reports arrived, so that a
-- rebuild creates the same ones. The process has written the dataset since the earliest known time.
WITH item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(versions)s) AS item (
        version_id uuid, dataset_id uuid, partition_key text, version_tag text, path text, format text, schema_hash text,
        row_count bigint, byte_size bigint, file_count int, checksum text, idempotency_key text, run_id uuid,
        process_id uuid, historical boolean, metadata_json jsonb, produced_at timestamptz
    )
), schema AS (
    INSERT INTO catalog.dataset_schema (
        dataset_id, schema_hash, column_order, organisation_id, column_name, column_type, nullable, column_metadata
    )
    SELECT used.dataset_id, used.schema_hash, col.position, %(organisation)s, col.item ->> 'name', col.item ->> 'type',
           (col.item ->> 'nullable')::boolean, col.item - '{name,type,nullable}'::text[]
    FROM (SELECT DISTINCT dataset_id, schema_hash FROM item) used
    JOIN LATERAL jsonb_array_elements(%(schemas)s::jsonb -> used.schema_hash)
        WITH ORDINALITY AS col (item, position) ON true
    ON CONFLICT DO NOTHING
), version AS (
    INSERT INTO catalog.dataset_version (
        dataset_version_id, organisation_id, dataset_id, partition_key, version_tag, path, format, row_count, byte_size,
        file_count, checksum, schema_hash, produced_by_run_id, idempotency_key, outcome, quarantine_rows, statistics,
        metadata_json, produced_at
    )
    SELECT version_id, %(organisation)s, dataset_id, partition_key, version_tag, path, format, row_count, byte_size,
           file_count, checksum, schema_hash, run_id, idempotency_key, 'PUBLISHED', 0, '{}', metadata_json, produced_at
    FROM item
    ORDER BY produced_at, version_id
    ON CONFLICT DO NOTHING
    RETURNING dataset_version_id AS version_id
), newest AS MATERIALIZED (
    SELECT DISTINCT ON (dataset_id, partition_key) item.*
    FROM item
    JOIN version USING (version_id)
    ORDER BY dataset_id, partition_key, produced_at DESC, version_tag COLLATE "C" DESC
), edge AS (
    INSERT INTO catalog.lineage_edge AS stored (
        organisation_id, source_type, source_id, target_type, target_id, edge_role, process_id, origin, valid_from
    )
    SELECT %(organisation)s::uuid, 'PROCESS', process_id, 'DATASET', dataset_id, 'PRODUCES', process_id, 'OBSERVED',
           min(produced_at)
    FROM item
    WHERE process_id IS NOT NULL
      AND NOT EXISTS (
          SELECT FROM catalog.lineage_edge stored
          WHERE stored.source_id = item.process_id
            AND stored.target_id = item.dataset_id
            AND stored.edge_role = 'PRODUCES'
            AND (stored.valid_to IS NOT NULL OR stored.origin <> 'OBSERVED' OR stored.valid_from <= item.produced_at)
      )
    GROUP BY process_id, dataset_id
    ORDER BY process_id, dataset_id
    ON CONFLICT (source_id, target_id, edge_role, process_id) WHERE valid_to IS NULL
        DO UPDATE SET valid_from = excluded.valid_from
        WHERE stored.origin = 'OBSERVED' AND stored.valid_from > excluded.valid_from
), moved AS (
    UPDATE catalog.published_pointer pointer
    SET dataset_version_id = newest.version_id, generation = pointer.generation + 1,
        moved_at = CASE
            WHEN pointer.generation = 0 THEN %(received_at)s
            ELSE greatest(%(received_at)s::timestamptz, pointer.moved_at)
        END
    FROM newest
    JOIN catalog.published_pointer before USING (dataset_id, partition_key)
    LEFT JOIN catalog.dataset_version current_version ON current_version.dataset_version_id = before.dataset_version_id
    WHERE pointer.dataset_id = newest.dataset_id
      AND pointer.partition_key = newest.partition_key
      AND (current_version.dataset_version_id IS NULL
           OR (newest.produced_at, newest.version_tag COLLATE "C") > (current_version.produced_at, current_version.version_tag))
    RETURNING pointer.dataset_id, pointer.partition_key, pointer.generation, pointer.moved_at,
              current_version.dataset_version_id AS previous_version_id
), history AS (
    INSERT INTO catalog.pointer_move (
        dataset_id, partition_key, generation, organisation_id, dataset_version_id, previous_version_id, kind, run_id,
        moved_at
    )
    SELECT dataset_id, partition_key, moved.generation, %(organisation)s, newest.version_id, moved.previous_version_id,
           'PUBLISH', newest.run_id, moved.moved_at
    FROM moved JOIN newest USING (dataset_id, partition_key)
), outbox AS (
    INSERT INTO catalog.outbox (organisation_id, topic, payload_json)
    SELECT %(organisation)s, 'version.published', jsonb_build_object(
        'dataset', full_name, 'partition', nullif(partition_key, ''), 'tag', version_tag, 'version_id', version_id,
        'run_id', run_id, 'generation', moved.generation, 'historical', historical)
    FROM moved JOIN newest USING (dataset_id, partition_key) JOIN catalog.dataset USING (dataset_id)
    WHERE NOT %(silent)s::boolean
    ORDER BY full_name, partition_key
)
SELECT version_id, moved.dataset_id IS NOT NULL AS published
FROM version
LEFT JOIN newest USING (version_id)
LEFT JOIN moved USING (dataset_id, partition_key)
