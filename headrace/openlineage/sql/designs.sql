-- Set the former edges of a job's design to these, except those that it still has by any name. Inputs and outputs of
-- declared processes are defined by their declarations.
WITH over AS MATERIALIZED (
    SELECT source_type, coalesce(source_name.dataset_id, item.source) AS source_id, target_type,
           coalesce(target_name.dataset_id, item.target) AS target_id, edge_role, min(since) AS since, max(until) AS until
    FROM jsonb_to_recordset(%(over)s) AS item (
        source_type text, source uuid, target_type text, target uuid, edge_role text, since timestamptz, until timestamptz
    )
    LEFT JOIN catalog.dataset_name source_name ON source_type = 'DATASET' AND source_name.name_id = item.source
    LEFT JOIN catalog.dataset_name target_name ON target_type = 'DATASET' AND target_name.name_id = item.target
    GROUP BY 1, 2, 3, 4, 5
), still AS MATERIALIZED (
    SELECT DISTINCT coalesce(source_name.dataset_id, item.source) AS source_id,
           coalesce(target_name.dataset_id, item.target) AS target_id, edge_role
    FROM jsonb_to_recordset(%(still)s) AS item (
        source_type text, source uuid, target_type text, target uuid, edge_role text
    )
    LEFT JOIN catalog.dataset_name source_name ON source_type = 'DATASET' AND source_name.name_id = item.source
    LEFT JOIN catalog.dataset_name target_name ON target_type = 'DATASET' AND target_name.name_id = item.target
), gone AS MATERIALIZED (
    SELECT over.*
    FROM over
    LEFT JOIN still USING (source_id, target_id, edge_role)
    WHERE still.source_id IS NULL
      AND EXISTS (
          SELECT FROM catalog.process
          WHERE process_id = %(process_id)s AND (declaration_hash = '' OR external_name IS NOT NULL)
      )
), reported AS (
    DELETE FROM catalog.lineage_edge edge
    WHERE edge.process_id = %(process_id)s
      AND edge.origin = 'OBSERVED'
      AND (edge.valid_to IS NOT NULL
           OR (edge.source_id, edge.target_id, edge.edge_role) IN (SELECT source_id, target_id, edge_role FROM gone))
)
INSERT INTO catalog.lineage_edge (
    organisation_id, source_type, source_id, target_type, target_id, edge_role, process_id, origin, valid_from, valid_to
)
SELECT %(organisation)s, source_type, source_id, target_type, target_id, edge_role, %(process_id)s, 'OBSERVED', since, until
FROM gone
