-- Adds edges, or moves the start of current ones back. Inputs and outputs of declared processes are defined by their
-- declarations; a scan does not know them.
INSERT INTO catalog.lineage_edge AS known (
    organisation_id, source_type, source_id, target_type, target_id, edge_role, process_id, origin, valid_from
)
SELECT %(organisation)s::uuid, source_type, coalesce(source_name.dataset_id, item.source), target_type,
       coalesce(target_name.dataset_id, item.target), edge_role, item.process_id, 'OBSERVED', min(at)
FROM jsonb_to_recordset(%(edges)s) AS item (
    source_type text, source uuid, target_type text, target uuid, edge_role text, process_id uuid, at timestamptz
)
LEFT JOIN catalog.dataset_name source_name ON source_type = 'DATASET' AND source_name.name_id = item.source
LEFT JOIN catalog.dataset_name target_name ON target_type = 'DATASET' AND target_name.name_id = item.target
LEFT JOIN catalog.process ON process.process_id = item.process_id
WHERE (coalesce(process.declaration_hash, '') = '' OR process.external_name IS NOT NULL)
GROUP BY 2, 3, 4, 5, 6, 7
ORDER BY 3, 5, 6, 7
ON CONFLICT (source_id, target_id, edge_role, process_id) WHERE valid_to IS NULL
    DO UPDATE SET valid_from = excluded.valid_from
    WHERE known.valid_from > excluded.valid_from AND known.origin = 'OBSERVED'
