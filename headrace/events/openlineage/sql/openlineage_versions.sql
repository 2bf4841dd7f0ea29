-- A version claimed by two runs belongs to the first; between compared runs that is already decided. An existing one
-- may come from a merged dataset; it gets its own tag back once the other with that tag is deleted.
WITH item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(versions)s) AS item (
        dataset_version_id uuid, dataset_id uuid, version_tag text, path text, format text, row_count bigint,
        byte_size bigint, file_count int, schema_hash text, produced_by_run_id uuid, idempotency_key text,
        produced_at timestamptz
    )
), known AS (
    UPDATE catalog.dataset_version known SET
        version_tag = CASE
            WHEN EXISTS (
                SELECT FROM catalog.dataset_version other
                WHERE other.dataset_id = item.dataset_id AND other.version_tag = item.version_tag AND other.partition_key = ''
            ) THEN known.version_tag
            ELSE item.version_tag
        END,
        path = item.path,
        format = item.format,
        row_count = item.row_count,
        byte_size = item.byte_size,
        file_count = item.file_count,
        schema_hash = item.schema_hash,
        produced_by_run_id = item.produced_by_run_id,
        produced_at = item.produced_at
    FROM item
    WHERE known.dataset_version_id = item.dataset_version_id
      AND (known.produced_by_run_id = ANY (%(weighed)s::uuid[])
           OR (item.produced_at, item.produced_by_run_id) < (known.produced_at, known.produced_by_run_id))
)
INSERT INTO catalog.dataset_version AS known (
    dataset_version_id, organisation_id, dataset_id, partition_key, version_tag, path, format, row_count, byte_size,
    file_count, checksum, schema_hash, produced_by_run_id, idempotency_key, outcome, quarantine_rows, statistics,
    metadata_json, produced_at
)
SELECT dataset_version_id, %(organisation)s, dataset_id, '', version_tag, path, format, row_count, byte_size, file_count, '',
       schema_hash, produced_by_run_id, idempotency_key, 'PUBLISHED', 0, '{}', '{}', produced_at
FROM item
WHERE NOT EXISTS (
    SELECT FROM catalog.dataset_version there WHERE there.dataset_version_id = item.dataset_version_id
)
ORDER BY dataset_version_id
ON CONFLICT (dataset_id, version_tag, partition_key) DO UPDATE SET
    path = excluded.path,
    format = excluded.format,
    row_count = excluded.row_count,
    byte_size = excluded.byte_size,
    file_count = excluded.file_count,
    schema_hash = excluded.schema_hash,
    produced_by_run_id = excluded.produced_by_run_id,
    produced_at = excluded.produced_at
WHERE known.idempotency_key LIKE 'openlineage/%'
  AND (known.produced_by_run_id = ANY (%(weighed)s::uuid[])
       OR (excluded.produced_at, excluded.produced_by_run_id) < (known.produced_at, known.produced_by_run_id))
RETURNING known.dataset_version_id
