SELECT dataset.dataset_id, full_name AS key, description, default_format AS format, owners, tags, status, score
FROM catalog.search_datasets(
    %(organisation)s, %(query)s, %(in_names)s::tsquery, %(anywhere)s::tsquery, %(ranked)s::integer
) found
JOIN catalog.dataset USING (dataset_id)
ORDER BY score DESC, length(full_name), full_name
OFFSET %(skip)s
LIMIT %(limit)s
