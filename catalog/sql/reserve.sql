-- A pointer for each place that has none yet, in one order for all, so that two publishers never wait for each other.
INSERT INTO catalog.published_pointer (dataset_id, partition_key, organisation_id)
SELECT dataset_id, partition_key, organisation_id
FROM unnest(%(datasets)s::text[], %(partitions)s::text[]) AS place (full_name, partition_key)
JOIN catalog.dataset USING (full_name)
WHERE organisation_id = %(organisation)s
  AND NOT EXISTS (
      SELECT FROM catalog.published_pointer pointer
      WHERE pointer.dataset_id = dataset.dataset_id AND pointer.partition_key = place.partition_key
  )
ORDER BY dataset_id, partition_key
ON CONFLICT DO NOTHING
