-- The published versions of a dataset with which its schema became another, the newest first.
SELECT dataset_version_id, version_tag AS tag, partition_key, schema_hash, previous_hash, produced_at
FROM (
    SELECT dataset_version_id, version_tag, partition_key, schema_hash, produced_at,
           lag(schema_hash) OVER (ORDER BY produced_at, dataset_version_id) AS previous_hash
    FROM catalog.dataset_version
    WHERE dataset_id = %(dataset_id)s AND outcome = 'PUBLISHED'
) version
WHERE schema_hash IS DISTINCT FROM previous_hash
  AND (%(before_at)s::timestamptz IS NULL
       OR (produced_at, dataset_version_id) < (%(before_at)s, %(before_id)s::uuid))
ORDER BY produced_at DESC, dataset_version_id DESC
LIMIT %(limit)s
