-- Every sensitive or cleared column of these datasets, and why.
WITH asked AS MATERIALIZED (
    SELECT dataset_id, full_name, columns FROM catalog.dataset
    WHERE organisation_id = %(organisation)s AND full_name = ANY (%(datasets)s)
), tagged AS (
    SELECT DISTINCT asked.dataset_id, each.name
    FROM asked
    CROSS JOIN LATERAL (
        SELECT item ->> 'name' AS name, item -> 'tags' AS tags FROM jsonb_array_elements(asked.columns) AS item
        UNION ALL
        SELECT stored.column_name, stored.column_metadata -> 'tags'
        FROM catalog.dataset_schema stored
        WHERE stored.dataset_id = asked.dataset_id
          AND NOT EXISTS (
              SELECT FROM catalog.cleared_column cleared
              WHERE cleared.dataset_id = asked.dataset_id AND cleared.column_name = stored.column_name
                AND cleared.withdrawn_at IS NULL)
    ) each
    WHERE EXISTS (
        SELECT FROM jsonb_array_elements_text(CASE jsonb_typeof(each.tags) WHEN 'array' THEN each.tags ELSE '[]' END) AS tag
        WHERE lower(tag) IN ('pii', 'sensitive'))
), inherited AS MATERIALIZED (
    SELECT * FROM catalog.inherited_columns(%(organisation)s, ARRAY(SELECT dataset_id FROM asked), true)
)
SELECT full_name AS dataset, name AS column, 'TAGGED' AS status, NULL AS from_dataset, NULL AS from_column,
       NULL AS by, NULL AS reason, NULL::timestamptz AS at
FROM tagged JOIN asked USING (dataset_id)
UNION ALL
SELECT full_name, column_name, CASE WHEN certain THEN 'INHERITED' ELSE 'POSSIBLE' END, from_key, from_column, NULL, NULL, NULL
FROM inherited JOIN asked USING (dataset_id)
WHERE NOT EXISTS (
    SELECT FROM tagged WHERE tagged.dataset_id = inherited.dataset_id AND tagged.name = inherited.column_name)
UNION ALL
SELECT full_name, column_name, 'CLEARED', NULL, NULL, cleared_by, reason, cleared_at
FROM catalog.cleared_column JOIN asked USING (dataset_id)
WHERE withdrawn_at IS NULL
ORDER BY dataset, "column", status
