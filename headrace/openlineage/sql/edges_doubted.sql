-- Which of these edges, by index, start when this run reported them. An edge that starts earlier is known from another
-- run, and stays.
SELECT item.place, edge.valid_from
FROM jsonb_to_recordset(%(edges)s) AS item (
    place int, source_type text, source uuid, target_type text, target uuid, edge_role text, process_id uuid, at timestamptz
)
LEFT JOIN catalog.dataset_name source_name ON source_type = 'DATASET' AND source_name.name_id = item.source
LEFT JOIN catalog.dataset_name target_name ON target_type = 'DATASET' AND target_name.name_id = item.target
JOIN catalog.lineage_edge edge
    ON edge.source_id = coalesce(source_name.dataset_id, item.source)
   AND edge.target_id = coalesce(target_name.dataset_id, item.target)
   AND edge.edge_role = item.edge_role
   AND edge.process_id IS NOT DISTINCT FROM item.process_id
WHERE edge.valid_to IS NULL AND edge.origin = 'OBSERVED' AND edge.valid_from >= item.at
