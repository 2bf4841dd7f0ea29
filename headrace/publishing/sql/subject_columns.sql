-- The columns with a tag, in declarations and in the schemas of versions, by dataset. A dataset that no process writes from
-- another one with the tag comes first, so that what is made from it is rewritten with it.
WITH tagged AS (
    SELECT dataset_id, item ->> 'name' AS column_name, item -> 'tags' AS tags
    FROM catalog.dataset CROSS JOIN LATERAL jsonb_array_elements(columns) AS item
    WHERE organisation_id = %(organisation)s
    UNION ALL
    SELECT dataset_id, column_name, column_metadata -> 'tags'
    FROM catalog.dataset_schema
    WHERE organisation_id = %(organisation)s
), subject AS (
    SELECT DISTINCT dataset_id, column_name
    FROM tagged
    WHERE EXISTS (
        SELECT FROM jsonb_array_elements_text(CASE jsonb_typeof(tags) WHEN 'array' THEN tags ELSE '[]' END) AS tag
        WHERE lower(tag) = %(tag)s)
)
SELECT full_name AS dataset, column_name AS "column", metadata_json ? 'external' AS is_external
FROM subject
JOIN catalog.dataset USING (dataset_id)
ORDER BY EXISTS (
    SELECT FROM catalog.lineage_edge edge
    JOIN subject source ON source.dataset_id = edge.source_id
    WHERE edge.target_id = subject.dataset_id AND edge.edge_role = 'DERIVES' AND edge.valid_to IS NULL
), full_name, column_name
