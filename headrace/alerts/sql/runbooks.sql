-- The runbook of a dataset or process, otherwise those of the datasets that a process produces.
SELECT runbook
FROM (
    SELECT 0 AS depth, full_name AS key, metadata_json ->> 'runbook' AS runbook
    FROM catalog.dataset
    WHERE dataset_id = %(subject_id)s
    UNION ALL
    SELECT 0, process_key, metadata_json ->> 'runbook'
    FROM catalog.process
    WHERE process_id = %(subject_id)s
    UNION ALL
    SELECT 1, dataset.full_name, dataset.metadata_json ->> 'runbook'
    FROM catalog.lineage_edge edge
    JOIN catalog.dataset ON dataset.dataset_id = edge.target_id
    WHERE edge.source_id = %(subject_id)s AND edge.edge_role = 'PRODUCES' AND edge.valid_to IS NULL
) described
WHERE runbook <> ''
ORDER BY depth, key
LIMIT 1
