-- Set the edges between datasets and external processes to the declared (`produced_by`) and confirmed ones; other
-- declared edges end now.
WITH named AS (
    SELECT dataset.dataset_id, role.field, item.name
    FROM catalog.dataset
    CROSS JOIN (VALUES ('produced_by'), ('consumed_by')) AS role (field)
    CROSS JOIN LATERAL jsonb_array_elements_text(
        CASE jsonb_typeof(dataset.metadata_json -> role.field) WHEN 'array' THEN dataset.metadata_json -> role.field END
    ) AS item (name)
    WHERE dataset.organisation_id = %(organisation)s
), process AS (
    SELECT process_id, process_key, external_name
    FROM catalog.process
    WHERE organisation_id = %(organisation)s AND external_name IS NOT NULL AND lifecycle <> 'RETIRED'
), meant AS (
    SELECT process_id, dataset_id, field FROM named JOIN process ON process.external_name = named.name
    UNION
    SELECT process_id, dataset_id, field FROM named JOIN process ON process.process_key = named.name
), output AS (
    SELECT process_id, dataset_id FROM meant WHERE field = 'produced_by'
    UNION
    SELECT process_id, candidate.dataset_id
    FROM catalog.dataset_candidate candidate
    JOIN catalog.candidate_evidence USING (candidate_id)
    JOIN process USING (process_id)
    WHERE candidate.organisation_id = %(organisation)s AND candidate.status = 'CONFIRMED' AND direction = 'writes'
), input AS (
    SELECT process_id, dataset_id FROM meant WHERE field = 'consumed_by'
    UNION
    SELECT process_id, candidate.dataset_id
    FROM catalog.dataset_candidate candidate
    JOIN catalog.candidate_evidence USING (candidate_id)
    JOIN process USING (process_id)
    WHERE candidate.organisation_id = %(organisation)s AND candidate.status = 'CONFIRMED' AND direction = 'reads'
), edge AS MATERIALIZED (
    SELECT 'DATASET' AS source_type, dataset_id AS source_id, 'PROCESS' AS target_type, process_id AS target_id,
           'CONSUMES' AS edge_role, process_id
    FROM input
    UNION ALL
    SELECT 'PROCESS', process_id, 'DATASET', dataset_id, 'PRODUCES', process_id FROM output
    UNION ALL
    SELECT 'DATASET', input.dataset_id, 'DATASET', output.dataset_id, 'DERIVES', process_id
    FROM input JOIN output USING (process_id)
    WHERE input.dataset_id <> output.dataset_id
), ended AS (
    UPDATE catalog.lineage_edge old SET valid_to = now()
    FROM catalog.process owner
    WHERE owner.organisation_id = %(organisation)s
      AND owner.external_name IS NOT NULL
      AND old.process_id = owner.process_id
      AND old.origin = 'DECLARED'
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
