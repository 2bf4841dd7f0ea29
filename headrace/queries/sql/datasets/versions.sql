SELECT version.dataset_version_id, version.reason, version.quarantine_rows,
       EXISTS (SELECT FROM catalog.published_pointer pointer
               WHERE pointer.dataset_version_id = version.dataset_version_id) AS published,
       ARRAY (SELECT name FROM catalog.quality_check_result result
              WHERE result.dataset_version_id = version.dataset_version_id AND status = 'FAIL' ORDER BY name) AS failing,
       ARRAY (SELECT name FROM catalog.quality_check_result result
              WHERE result.dataset_version_id = version.dataset_version_id AND status = 'WARN' ORDER BY name) AS warning
FROM catalog.dataset_version version
WHERE version.dataset_id = %(dataset_id)s
  AND (%(partition)s::text IS NULL OR version.partition_key = %(partition)s)
  AND (%(before)s::timestamptz IS NULL OR version.produced_at < %(before)s)
ORDER BY version.produced_at DESC, version.dataset_version_id
LIMIT %(limit)s
