SELECT dataset.full_name AS dataset, pointer.partition_key, pointer.dataset_version_id, pointer.generation, pointer.moved_at
FROM catalog.dataset
JOIN catalog.published_pointer pointer USING (dataset_id)
WHERE dataset.organisation_id = %(organisation)s AND dataset.full_name = ANY (%(keys)s) AND pointer.dataset_version_id IS NOT NULL
  AND (%(partitions)s::text[] IS NULL OR pointer.partition_key = ANY (%(partitions)s::text[]))
ORDER BY dataset.full_name, pointer.partition_key
