-- A page of an organisation's processes, or of the given ones, with the content of their JobEvents.
SELECT process.process_id AS id, named.namespace_uri AS namespace, named.name, process.technology, process.description,
       process.owners, coalesce(read.datasets, '[]') AS inputs, coalesce(written.datasets, '[]') AS outputs,
       coalesce(derived.pairs, '[]') AS pairs, coalesce(columns.pairs, '[]') AS columns
FROM catalog.process
JOIN catalog.openlineage_process named USING (process_id)
LEFT JOIN LATERAL (
    SELECT jsonb_agg(jsonb_build_object('namespace', source.namespace_uri, 'name', source.name)
                     ORDER BY source.namespace_uri, source.name) AS datasets
    FROM catalog.lineage_edge edge
    JOIN catalog.openlineage_dataset source ON source.dataset_id = edge.source_id
    WHERE edge.target_id = process.process_id AND edge.edge_role = 'CONSUMES' AND edge.valid_to IS NULL
) read ON true
LEFT JOIN LATERAL (
    SELECT jsonb_agg(jsonb_build_object('namespace', target.namespace_uri, 'name', target.name)
                     ORDER BY target.namespace_uri, target.name) AS datasets
    FROM catalog.lineage_edge edge
    JOIN catalog.openlineage_dataset target ON target.dataset_id = edge.target_id
    WHERE edge.source_id = process.process_id AND edge.edge_role = 'PRODUCES' AND edge.valid_to IS NULL
) written ON true
LEFT JOIN LATERAL (
    SELECT jsonb_agg(jsonb_build_object(
               'source_type', edge.source_type, 'source_namespace', source.namespace_uri, 'source_name', source.name,
               'target_type', edge.target_type, 'target_namespace', target.namespace_uri, 'target_name', target.name)
               ORDER BY target.namespace_uri, target.name, source.namespace_uri, source.name) AS pairs
    FROM catalog.lineage_edge edge
    CROSS JOIN LATERAL (
        SELECT namespace_uri, name FROM catalog.openlineage_dataset
        WHERE edge.source_type = 'DATASET' AND dataset_id = edge.source_id
        UNION ALL
        SELECT namespace_uri, name FROM catalog.openlineage_process
        WHERE edge.source_type = 'PROCESS' AND process_id = edge.source_id
    ) source
    CROSS JOIN LATERAL (
        SELECT namespace_uri, name FROM catalog.openlineage_dataset
        WHERE edge.target_type = 'DATASET' AND dataset_id = edge.target_id
        UNION ALL
        SELECT namespace_uri, name FROM catalog.openlineage_process
        WHERE edge.target_type = 'PROCESS' AND process_id = edge.target_id
    ) target
    WHERE edge.process_id = process.process_id AND edge.edge_role = 'DERIVES' AND edge.valid_to IS NULL
) derived ON true
LEFT JOIN LATERAL (
    SELECT jsonb_agg(jsonb_build_object(
               'source_namespace', source.namespace_uri, 'source_name', source.name, 'source_field', edge.source_field,
               'target_namespace', target.namespace_uri, 'target_name', target.name, 'target_field', edge.target_field,
               'type', edge.transformation_type, 'subtype', edge.transformation_subtype, 'masking', edge.masking)
               ORDER BY target.namespace_uri, target.name, edge.target_field, source.namespace_uri, source.name,
                        edge.source_field, edge.transformation_type, edge.transformation_subtype, edge.masking) AS pairs
    FROM catalog.column_edge edge
    JOIN catalog.openlineage_dataset source ON source.dataset_id = edge.source_id
    JOIN catalog.openlineage_dataset target ON target.dataset_id = edge.target_id
    WHERE edge.process_id = process.process_id AND edge.current
) columns ON true
WHERE process.organisation_id = %(organisation)s AND process.process_id > %(after)s
  AND (%(processes)s::uuid[] IS NULL OR process.process_id = ANY (%(processes)s))
ORDER BY process.process_id
LIMIT %(limit)s
