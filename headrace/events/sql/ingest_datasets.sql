-- The datasets of these names as declared, and whether Spark computes them here; an undeclared one is registered as a
-- draft if `make` is set.
WITH named AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(datasets)s) AS item (full_name text, namespace text, name text, format text)
), known AS MATERIALIZED (
    SELECT dataset.* FROM named JOIN catalog.dataset USING (full_name) WHERE organisation_id = %(organisation)s
), made AS (
    INSERT INTO catalog.dataset (
        organisation_id, namespace, name, full_name, default_format, owners, tags, columns, status, metadata_json,
        declaration_hash
    )
    SELECT %(organisation)s, namespace, name, full_name, format, '{}', '{}', '[]', 'DRAFT', '{"external": true}', ''
    FROM named
    WHERE full_name NOT IN (SELECT full_name FROM known) AND %(make)s::boolean
    ORDER BY full_name
    RETURNING dataset_id, full_name, default_format, columns, partitions, metadata_json
)
SELECT dataset_id, full_name, default_format, columns, partitions, metadata_json, false AS made, EXISTS (
    SELECT
    FROM catalog.lineage_edge edge
    JOIN catalog.process ON process.process_id = edge.source_id
    WHERE edge.target_id = known.dataset_id
      AND edge.edge_role = 'PRODUCES'
      AND edge.valid_to IS NULL
      AND process.technology = 'SPARK'
) AS computed_here
FROM known
UNION ALL
SELECT dataset_id, full_name, default_format, columns, partitions, metadata_json, true, false FROM made
