-- A count that does not fit a bigint is null.
SELECT run_id,
       CASE WHEN abs(row_count) < 2::numeric ^ 63 THEN row_count::bigint END AS row_count,
       CASE WHEN abs(byte_size) < 2::numeric ^ 63 THEN byte_size::bigint END AS byte_size,
       CASE WHEN abs(file_count) < 2::numeric ^ 63 THEN file_count::bigint END AS file_count,
       last_updated, columns, at
FROM catalog.dataset_metrics
WHERE name_id IN (SELECT name_id FROM catalog.dataset_name WHERE dataset_id = %(dataset_id)s)
ORDER BY at DESC, run_id
LIMIT %(limit)s
