-- Published versions since a time, with the results of their checks, the oldest first.
SELECT version.dataset_id, version.version_tag AS tag, version.partition_key, version.produced_at, version.row_count,
       version.byte_size, version.statistics, version.outcome,
       version.metadata_json ? 'appended_to' AS is_appended,
       version.row_count - coalesce((
           SELECT before.row_count
           FROM catalog.dataset_version before
           WHERE before.dataset_id = version.dataset_id
             AND before.version_tag = version.metadata_json -> 'appended_to' -> -1 ->> 'tag'), 0) AS written_rows,
       coalesce((
           SELECT jsonb_agg(jsonb_build_object('name', name, 'status', result.status, 'failed_rows', failed_rows,
                                               'detail', detail_json, 'at', executed_at) ORDER BY name)
           FROM catalog.quality_check_result result
           WHERE result.dataset_version_id = version.dataset_version_id), '[]') AS results
FROM catalog.dataset_version version
WHERE version.organisation_id = %(organisation)s AND version.produced_at >= %(since)s
  AND version.outcome IN ('PUBLISHED', 'BLOCKED')
ORDER BY version.produced_at, version.dataset_version_id
