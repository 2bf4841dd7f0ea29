INSERT INTO catalog.dataset_lineage (
    dataset_id, lineage_hash, organisation_id, content, column_count, known_count
)
SELECT dataset.dataset_id, item.hash, %(organisation)s, item.content, item.column_count, item.known_count
FROM jsonb_to_recordset(%(lineages)s)
    AS item (dataset text, hash text, content jsonb, column_count integer, known_count integer)
JOIN catalog.dataset ON dataset.organisation_id = %(organisation)s AND dataset.full_name = item.dataset
ORDER BY dataset.dataset_id, item.hash
ON CONFLICT DO NOTHING
