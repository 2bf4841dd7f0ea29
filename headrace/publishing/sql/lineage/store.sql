WITH item AS MATERIALIZED (
    SELECT dataset.dataset_id, item.*
    FROM jsonb_to_recordset(%(lineages)s)
        AS item (dataset text, hash text, content jsonb, column_count integer, known_count integer, flows jsonb)
    JOIN catalog.dataset ON dataset.organisation_id = %(organisation)s AND dataset.full_name = item.dataset
), flow AS (
    INSERT INTO catalog.lineage_flow (
        dataset_id, lineage_hash, source_name_id, source_column, target_column, certain, organisation_id
    )
    SELECT dataset_id, hash, source_name_id, source_column, target_column, certain, %(organisation)s
    FROM item
    CROSS JOIN LATERAL jsonb_to_recordset(item.flows)
        AS flow (source_name_id uuid, source_column text, target_column text, certain boolean)
    ORDER BY dataset_id, hash, source_name_id, source_column, target_column, certain
    ON CONFLICT DO NOTHING
)
INSERT INTO catalog.dataset_lineage (
    dataset_id, lineage_hash, organisation_id, content, column_count, known_count
)
SELECT dataset_id, hash, %(organisation)s, content, column_count, known_count
FROM item
ORDER BY dataset_id, hash
ON CONFLICT DO NOTHING
