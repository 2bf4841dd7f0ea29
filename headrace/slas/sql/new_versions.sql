-- Versions in the outbox since a position, with the checks that did not pass, the row counts of earlier versions
-- (400: sixteen days of an hourly dataset; of its partition if partitions are static, since they differ in size), and the last known schema before (no_schema: the hash of no columns).
WITH event AS MATERIALIZED (
    SELECT transaction_id, outbox_id, (payload_json ->> 'version_id')::uuid AS dataset_version_id
    FROM catalog.outbox
    WHERE organisation_id = %(organisation)s
      AND (transaction_id, outbox_id) > (%(transaction_id)s::bigint, %(outbox_id)s::bigint)
      AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
      AND topic IN ('version.published', 'version.blocked')
    ORDER BY transaction_id, outbox_id
    LIMIT %(limit)s
)
SELECT event.transaction_id, event.outbox_id, 'DATASET' AS subject_type, dataset.full_name AS subject,
       dataset.dataset_id AS subject_id, dataset.owners, version.version_tag AS tag, version.partition_key, version.outcome,
       version.reason, version.produced_by_run_id AS run_id, version.produced_at AS at, version.row_count, version.schema_hash,
       previous.schema_hash AS previous_hash, past.history, bad.checks, bad.names
FROM event
JOIN catalog.dataset_version version USING (dataset_version_id)
JOIN catalog.dataset USING (dataset_id)
LEFT JOIN LATERAL (
    SELECT jsonb_agg(jsonb_build_object('check', name, 'status', status, 'failed_rows', failed_rows) ORDER BY name) AS checks,
           string_agg(name, ', ' ORDER BY name) AS names
    FROM catalog.quality_check_result result
    WHERE result.dataset_version_id = version.dataset_version_id AND status <> 'PASS'
) bad ON true
LEFT JOIN LATERAL (
    SELECT earlier.schema_hash
    FROM catalog.dataset_version earlier
    WHERE earlier.dataset_id = version.dataset_id AND earlier.outcome = 'PUBLISHED' AND earlier.produced_at < version.produced_at
      AND earlier.schema_hash <> %(no_schema)s
    ORDER BY earlier.produced_at DESC, earlier.dataset_version_id
    LIMIT 1
) previous ON version.outcome = 'PUBLISHED' AND version.schema_hash <> %(no_schema)s
LEFT JOIN LATERAL (
    SELECT array_agg(jsonb_build_array(extract(epoch FROM produced_at), row_count)) AS history
    FROM (
        SELECT earlier.produced_at, earlier.row_count
        FROM catalog.dataset_version earlier
        WHERE earlier.dataset_id = version.dataset_id AND earlier.outcome = 'PUBLISHED' AND earlier.row_count IS NOT NULL
          AND earlier.produced_at < version.produced_at
          AND (earlier.partition_key = version.partition_key
               OR dataset.partition_definition ->> 'type' IS DISTINCT FROM 'static')
        ORDER BY earlier.produced_at DESC, earlier.dataset_version_id
        LIMIT 400
    ) counted
) past ON version.outcome = 'PUBLISHED' AND version.row_count IS NOT NULL
WHERE version.produced_at > %(now)s - interval '1 day'
ORDER BY event.transaction_id, event.outbox_id
