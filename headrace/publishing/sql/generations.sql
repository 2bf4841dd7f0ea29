SELECT full_name, partition_key, generation
FROM unnest(%(datasets)s::text[], %(partitions)s::text[]) AS place (full_name, partition_key)
JOIN catalog.dataset USING (full_name)
JOIN catalog.published_pointer USING (dataset_id, partition_key)
WHERE dataset.organisation_id = %(organisation)s
