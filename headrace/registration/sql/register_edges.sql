-- Set the edges of each process in %(processes)s to its inputs and outputs; other edges of it end now.
WITH declared AS (
    SELECT process.process_id, item.inputs, item.outputs
    FROM jsonb_to_recordset(%(processes)s) AS item (process_key text, inputs text[], outputs text[])
    JOIN catalog.process ON process.organisation_id = %(organisation)s AND process.process_key = item.process_key
), input AS (
    SELECT process_id, dataset.dataset_id
    FROM declared
    JOIN catalog.dataset ON dataset.organisation_id = %(organisation)s AND dataset.full_name = ANY (inputs)
), output AS (
    SELECT process_id, dataset.dataset_id
    FROM declared
    JOIN catalog.dataset ON dataset.organisation_id = %(organisation)s AND dataset.full_name = ANY (outputs)
), edge AS MATERIALIZED (
    SELECT 'DATASET' AS source_type, dataset_id AS source_id, 'PROCESS' AS target_type, process_id AS target_id,
           'CONSUMES' AS edge_role, process_id
    FROM input
    UNION ALL
    SELECT 'PROCESS', process_id, 'DATASET', dataset_id, 'PRODUCES', process_id FROM output
    UNION ALL
    SELECT 'DATASET', input.dataset_id, 'DATASET', output.dataset_id, 'DERIVES', process_id
    FROM input JOIN output USING (process_id)
), ended AS (
    UPDATE catalog.lineage_edge old SET valid_to = now()
    FROM declared
    WHERE old.process_id = declared.process_id
      AND old.valid_to IS NULL
      AND NOT EXISTS (
          SELECT FROM edge
          WHERE (edge.source_id, edge.target_id, edge.edge_role, edge.process_id)
              = (old.source_id, old.target_id, old.edge_role, old.process_id)
      )
)
INSERT INTO catalog.lineage_edge (
    organisation_id, source_type, source_id, target_type, target_id, edge_role, process_id, origin
)
SELECT %(organisation)s, source_type, source_id, target_type, target_id, edge_role, process_id, 'DECLARED'
FROM edge
ON CONFLICT (source_id, target_id, edge_role, process_id) WHERE valid_to IS NULL DO UPDATE SET origin = 'DECLARED'
