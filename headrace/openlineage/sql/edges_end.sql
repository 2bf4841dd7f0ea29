-- Deletes edges that an event has shown to be wrong. An edge that other runs still show starts with the first of these.
WITH gone AS MATERIALIZED (
    SELECT DISTINCT source_type, coalesce(source_name.dataset_id, item.source) AS source_id, target_type,
           coalesce(target_name.dataset_id, item.target) AS target_id, edge_role, process_id
    FROM jsonb_to_recordset(%(gone)s) AS item (
        source_type text, source uuid, target_type text, target uuid, edge_role text, process_id uuid
    )
    LEFT JOIN catalog.dataset_name source_name ON source_type = 'DATASET' AND source_name.name_id = item.source
    LEFT JOIN catalog.dataset_name target_name ON target_type = 'DATASET' AND target_name.name_id = item.target
), still AS MATERIALIZED (
    SELECT coalesce(source_name.dataset_id, item.source) AS source_id, coalesce(target_name.dataset_id, item.target) AS target_id,
           edge_role, process_id, min(at) AS at
    FROM jsonb_to_recordset(%(still)s) AS item (
        source_type text, source uuid, target_type text, target uuid, edge_role text, process_id uuid, at timestamptz
    )
    LEFT JOIN catalog.dataset_name source_name ON source_type = 'DATASET' AND source_name.name_id = item.source
    LEFT JOIN catalog.dataset_name target_name ON target_type = 'DATASET' AND target_name.name_id = item.target
    GROUP BY 1, 2, 3, 4
), kept AS (
    UPDATE catalog.lineage_edge edge SET valid_from = still.at
    FROM gone
    JOIN still USING (source_id, target_id, edge_role)
    WHERE still.process_id IS NOT DISTINCT FROM gone.process_id
      AND edge.source_id = gone.source_id AND edge.target_id = gone.target_id AND edge.edge_role = gone.edge_role
      AND edge.process_id IS NOT DISTINCT FROM gone.process_id
      AND edge.valid_to IS NULL AND edge.origin = 'OBSERVED'
)
DELETE FROM catalog.lineage_edge edge
USING gone
WHERE edge.source_id = gone.source_id AND edge.target_id = gone.target_id AND edge.edge_role = gone.edge_role
  AND edge.process_id IS NOT DISTINCT FROM gone.process_id
  AND edge.valid_to IS NULL AND edge.origin = 'OBSERVED'
  AND NOT EXISTS (
      SELECT FROM still
      WHERE still.source_id = gone.source_id AND still.target_id = gone.target_id AND still.edge_role = gone.edge_role
        AND still.process_id IS NOT DISTINCT FROM gone.process_id
  )
