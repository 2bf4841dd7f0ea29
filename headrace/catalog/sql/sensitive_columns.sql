-- catalog.schema.SENSITIVE has the same tags. An owner's clearing overrides everything except the declaration.
WITH inherited AS MATERIALIZED (
    SELECT *
    FROM catalog.inherited_columns(%(organisation)s, ARRAY(
        SELECT dataset_id FROM catalog.dataset
        WHERE organisation_id = %(organisation)s AND full_name = ANY (%(datasets)s)), false)
)
SELECT full_name, ARRAY(
    SELECT item ->> 'name'
    FROM jsonb_array_elements(dataset.columns) AS item
    WHERE EXISTS (
        SELECT FROM jsonb_array_elements_text(CASE jsonb_typeof(item -> 'tags') WHEN 'array' THEN item -> 'tags' ELSE '[]' END)
            AS tag
        WHERE lower(tag) IN ('pii', 'sensitive')
    )
    UNION
    SELECT column_name
    FROM catalog.dataset_schema stored
    WHERE stored.dataset_id = dataset.dataset_id
      AND EXISTS (
        SELECT FROM jsonb_array_elements_text(
            CASE jsonb_typeof(column_metadata -> 'tags') WHEN 'array' THEN column_metadata -> 'tags' ELSE '[]' END
        ) AS tag
        WHERE lower(tag) IN ('pii', 'sensitive')
      )
      AND NOT EXISTS (
        SELECT FROM catalog.cleared_column cleared
        WHERE cleared.dataset_id = dataset.dataset_id AND cleared.column_name = stored.column_name
          AND cleared.withdrawn_at IS NULL
      )
    UNION
    SELECT inherited.column_name FROM inherited WHERE inherited.dataset_id = dataset.dataset_id
) AS columns
FROM catalog.dataset
WHERE organisation_id = %(organisation)s AND full_name = ANY (%(datasets)s)
