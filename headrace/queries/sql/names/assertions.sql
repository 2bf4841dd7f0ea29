SELECT run_id, assertion, column_name AS "column", success, severity, detail, at
FROM catalog.dataset_assertion
WHERE name_id IN (SELECT name_id FROM catalog.dataset_name WHERE dataset_id = %(dataset_id)s)
ORDER BY at DESC, run_id, assertion_key
LIMIT %(limit)s
