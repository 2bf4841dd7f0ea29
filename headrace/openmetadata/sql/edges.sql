-- The current edges between datasets into these targets, and those of processes that only read or only write.
SELECT source_type, source_id, target_type, target_id, edge_role AS role, process_id
FROM catalog.lineage_edge edge
WHERE organisation_id = %(organisation)s AND valid_to IS NULL
  AND (%(targets)s::uuid[] IS NULL OR target_id = ANY (%(targets)s))
  AND (source_type = 'DATASET' AND target_type = 'DATASET' AND source_id <> target_id
       OR source_type = 'PROCESS' AND target_type = 'PROCESS' AND source_id <> target_id
       OR edge_role = 'CONSUMES' AND NOT EXISTS (
           SELECT FROM catalog.lineage_edge other
           WHERE other.source_id = edge.target_id AND other.edge_role = 'PRODUCES' AND other.valid_to IS NULL)
       OR edge_role = 'PRODUCES' AND NOT EXISTS (
           SELECT FROM catalog.lineage_edge other
           WHERE other.target_id = edge.source_id AND other.edge_role = 'CONSUMES' AND other.valid_to IS NULL))
ORDER BY target_id, source_id, process_id
