-- The results of a dataset's checks, those of the newest versions first.
SELECT version.dataset_version_id AS version_id, version.version_tag AS tag, version.partition_key, version.outcome,
       result.name, result.status, result.failed_rows, result.detail_json AS detail, result.executed_at,
       def.kind, def.column_name AS "column", def.severity, version.produced_at
FROM catalog.dataset_version version
JOIN catalog.quality_check_result result USING (dataset_version_id)
LEFT JOIN catalog.quality_check_def def ON def.dataset_id = version.dataset_id AND def.name = result.name
WHERE version.dataset_id = %(dataset_id)s
  AND (%(partition)s::text IS NULL OR version.partition_key = %(partition)s)
  AND (%(status)s::text IS NULL OR result.status = %(status)s)
  AND (%(before_at)s::timestamptz IS NULL
       OR version.produced_at < %(before_at)s
       OR (version.produced_at = %(before_at)s
           AND (version.dataset_version_id, result.name) > (%(before_id)s::uuid, %(after_name)s::text)))
ORDER BY version.produced_at DESC, version.dataset_version_id, result.name
LIMIT %(limit)s
