SELECT dataset.full_name AS dataset, pointer.partition_key, pointer.dataset_version_id, pointer.generation, pointer.moved_at
FROM catalog.published_pointer pointer
JOIN catalog.dataset USING (dataset_id)
WHERE pointer.dataset_id = %(dataset_id)s
  AND pointer.dataset_version_id IS NOT NULL
  AND (%(after)s::text IS NULL OR pointer.partition_key > %(after)s)
ORDER BY pointer.partition_key
LIMIT %(limit)s
