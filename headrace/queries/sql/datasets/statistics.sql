-- The statistics of a dataset's versions: without partitions, or of one, of its versions, the newest first; else of the
-- published version of each partition, the last partition first.
WITH chosen AS (
    SELECT version.dataset_version_id, version.partition_key, version.produced_at
    FROM catalog.dataset_version version
    WHERE version.dataset_id = %(dataset_id)s AND version.outcome = 'PUBLISHED'
      AND (version.partition_key = coalesce(%(partition)s::text, '')
           OR (%(partition)s::text IS NULL
               AND EXISTS (SELECT FROM catalog.published_pointer pointer
                           WHERE pointer.dataset_version_id = version.dataset_version_id)))
    ORDER BY version.partition_key DESC, version.produced_at DESC, version.dataset_version_id
    LIMIT %(limit)s
)
SELECT dataset_version_id AS version_id, version.version_tag AS tag, version.partition_key, version.produced_at,
       version.row_count,
       CASE WHEN %(column)s::text IS NULL THEN version.statistics
            WHEN version.statistics ? %(column)s THEN jsonb_build_object(%(column)s::text, version.statistics -> %(column)s)
            ELSE '{}' END AS statistics
FROM chosen
JOIN catalog.dataset_version version USING (dataset_version_id)
ORDER BY version.partition_key DESC, version.produced_at DESC, dataset_version_id
