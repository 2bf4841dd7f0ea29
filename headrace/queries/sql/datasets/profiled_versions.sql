-- Versions of a dataset with their statistics: those with a tag, or else the published ones; of partitions between two
-- keys, if these are given.
SELECT version.dataset_version_id AS version_id, version.version_tag AS tag, version.partition_key, version.row_count,
       version.statistics,
       ARRAY(SELECT sketch.column_name FROM catalog.column_sketch sketch
             WHERE sketch.dataset_version_id = version.dataset_version_id) AS sketched
FROM catalog.dataset_version version
WHERE version.dataset_id = %(dataset_id)s
  AND (version.version_tag = %(tag)s::text
       OR (%(tag)s::text IS NULL
           AND EXISTS (SELECT FROM catalog.published_pointer pointer
                       WHERE pointer.dataset_version_id = version.dataset_version_id)))
  AND (%(first)s::text IS NULL OR version.partition_key >= %(first)s)
  AND (%(last)s::text IS NULL OR version.partition_key <= %(last)s)
ORDER BY version.partition_key
LIMIT %(limit)s
