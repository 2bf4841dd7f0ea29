SELECT used.role, dataset.dataset_id, dataset.full_name AS key, used.version, nullif(used.partition_key, '') AS partition,
       used.facets
FROM catalog.run_dataset used
JOIN catalog.dataset_name named USING (name_id)
JOIN catalog.dataset ON dataset.dataset_id = named.dataset_id
WHERE used.run_id = %(run_id)s
ORDER BY used.role, dataset.full_name
