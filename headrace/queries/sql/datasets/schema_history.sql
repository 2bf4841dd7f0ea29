-- The published versions of a dataset that changed its schema, newest first, combined by time with reported schemas
-- that no version has. A version without reported columns does not count.
WITH report AS (
    SELECT dataset_version_id, version_tag AS tag, partition_key, schema_hash, produced_at AS since,
           dataset_version_id::text AS place
    FROM catalog.dataset_version
    WHERE dataset_id = %(dataset_id)s AND outcome = 'PUBLISHED' AND schema_hash <> %(none)s
    UNION ALL
    SELECT NULL, NULL, '', schema_hash, min(created_at), schema_hash
    FROM catalog.dataset_schema
    WHERE dataset_id = %(dataset_id)s
      AND schema_hash NOT IN (SELECT schema_hash FROM catalog.dataset_version WHERE dataset_id = %(dataset_id)s)
    GROUP BY schema_hash
)
SELECT dataset_version_id, tag, partition_key, schema_hash, previous_hash, since, place
FROM (SELECT *, lag(schema_hash) OVER (ORDER BY since, place) AS previous_hash FROM report) change
WHERE schema_hash IS DISTINCT FROM previous_hash
  AND (%(before_at)s::timestamptz IS NULL OR (since, place) < (%(before_at)s, %(before_place)s::text))
ORDER BY since DESC, place DESC
LIMIT %(limit)s
