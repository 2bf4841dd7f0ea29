-- Inserts or updates versions; returns them, and whether they were produced earlier than was known. A version that two
-- runs claim belongs to the first; between compared runs that is already decided. Only a final one changes a final one. A
-- stored one may come from a merged dataset; it gets its own tag back once the other with that tag is deleted. The process has
-- written the dataset since the earliest known time.
WITH item AS MATERIALIZED (
    SELECT item.*, coalesce(same.dataset_version_id, tagged.dataset_version_id) AS stored_id,
           tagged.dataset_version_id IS NOT NULL AS tag_is_taken, coalesce(same.produced_at, tagged.produced_at) AS stored_at
    FROM jsonb_to_recordset(%(versions)s) AS item (
        dataset_version_id uuid, dataset_id uuid, partition_key text, version_tag text, path text, format text,
        schema_hash text, row_count bigint, byte_size bigint, file_count int, checksum text, idempotency_key text,
        produced_by_run_id uuid, process_id uuid, metadata_json jsonb, produced_at timestamptz, is_final boolean
    )
    LEFT JOIN LATERAL (
        SELECT dataset_version_id, produced_at
        FROM catalog.dataset_version stored
        WHERE stored.dataset_version_id = item.dataset_version_id
        OFFSET 0 -- by the index, whatever statistics the planner has
    ) same ON true
    LEFT JOIN LATERAL (
        SELECT dataset_version_id, produced_at
        FROM catalog.dataset_version stored
        WHERE stored.dataset_id = item.dataset_id
          AND stored.version_tag = item.version_tag
          AND stored.partition_key = item.partition_key
        OFFSET 0
    ) tagged ON true
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
), changed AS (
    UPDATE catalog.dataset_version known SET
        version_tag = CASE WHEN item.tag_is_taken THEN known.version_tag ELSE item.version_tag END,
        path = item.path,
        format = item.format,
        row_count = item.row_count,
        byte_size = item.byte_size,
        file_count = item.file_count,
        schema_hash = item.schema_hash,
        checksum = item.checksum,
        metadata_json = item.metadata_json,
        idempotency_key = CASE WHEN item.is_final THEN item.idempotency_key ELSE known.idempotency_key END,
        produced_by_run_id = item.produced_by_run_id,
        produced_at = item.produced_at
    FROM item
    WHERE known.dataset_version_id = item.stored_id
      AND starts_with(known.idempotency_key, CASE WHEN item.is_final THEN 'reported/' ELSE 'openlineage/' END)
      AND (known.produced_by_run_id = ANY (%(weighed)s::uuid[])
           OR (item.produced_at, item.produced_by_run_id) < (known.produced_at, known.produced_by_run_id))
    RETURNING known.dataset_id, known.dataset_version_id, false AS is_new, item.produced_at < stored_at AS is_earlier
), inserted AS (
    INSERT INTO catalog.dataset_version (
        dataset_version_id, organisation_id, dataset_id, partition_key, version_tag, path, format, row_count, byte_size,
        file_count, checksum, schema_hash, produced_by_run_id, idempotency_key, outcome, quarantine_rows, statistics,
        metadata_json, produced_at
    )
    SELECT dataset_version_id, %(organisation)s, dataset_id, partition_key, version_tag, path, format, row_count, byte_size,
           file_count, checksum, schema_hash, produced_by_run_id, idempotency_key, 'PUBLISHED', 0, '{}', metadata_json,
           produced_at
    FROM item
    WHERE stored_id IS NULL
    ORDER BY produced_at, dataset_version_id
    ON CONFLICT DO NOTHING
    RETURNING dataset_id, dataset_version_id, true, false
)
SELECT * FROM changed UNION ALL SELECT * FROM inserted
