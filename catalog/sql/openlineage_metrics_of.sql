SELECT run_id, row_count::bigint, byte_size::bigint, file_count::bigint, last_updated, columns, at
FROM catalog.dataset_metrics
WHERE name_id IN (SELECT name_id FROM catalog.dataset_name WHERE dataset_id = %(dataset_id)s)
ORDER BY at DESC, run_id
LIMIT %(limit)s
