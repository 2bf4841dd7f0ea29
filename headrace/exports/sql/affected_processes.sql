-- Processes whose events contain one of these processes or datasets, or datasets with one of these names.
SELECT edge.process_id AS id
FROM (
    SELECT source_id AS process_id, target_id AS dataset_id
    FROM catalog.lineage_edge
    WHERE edge_role = 'PRODUCES' AND valid_to IS NULL AND organisation_id = %(organisation)s
    UNION ALL
    SELECT target_id, source_id
    FROM catalog.lineage_edge
    WHERE edge_role = 'CONSUMES' AND valid_to IS NULL AND organisation_id = %(organisation)s
) edge
WHERE edge.dataset_id = ANY (%(datasets)s)
   OR edge.dataset_id IN (SELECT dataset_id FROM catalog.dataset_name WHERE name_id = ANY (%(names)s))
UNION
SELECT process_id FROM catalog.process WHERE process_id = ANY (%(processes)s) AND organisation_id = %(organisation)s
