-- Every edge that leaves a shown node in the walk's direction; `far` is null where it leads to a node that is not shown.
SELECT near.full_name AS near, far.full_name AS far, process.process_key
FROM unnest(%(ids)s::uuid[]) AS shown (dataset_id)
JOIN catalog.dataset near USING (dataset_id)
JOIN LATERAL (
    SELECT target_id AS far_id, process_id, valid_from, valid_to
    FROM catalog.lineage_edge
    WHERE NOT %(up)s::boolean AND source_id = shown.dataset_id AND edge_role = 'DERIVES'
    UNION ALL
    SELECT source_id, process_id, valid_from, valid_to
    FROM catalog.lineage_edge
    WHERE %(up)s::boolean AND target_id = shown.dataset_id AND edge_role = 'DERIVES'
) edge ON edge.valid_from <= %(at)s AND (edge.valid_to IS NULL OR edge.valid_to > %(at)s)
LEFT JOIN catalog.dataset far ON far.dataset_id = edge.far_id AND far.dataset_id = ANY (%(ids)s)
LEFT JOIN catalog.process ON process.process_id = edge.process_id
ORDER BY near.full_name, far.full_name, process.process_key
