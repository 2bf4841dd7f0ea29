-- What stewards wrote, and what the declarations say; of one dataset, or of all.
SELECT dataset.full_name AS dataset, dataset.declared_at, change.field, change."column", change.value, change.declared, change.state,
       change.by, change.at
FROM (
    SELECT dataset_id, field, column_name AS "column", value, declared, outcome AS state, changed_by AS by,
           changed_at AS at
    FROM catalog.openmetadata_change
    WHERE organisation_id = %(organisation)s
    UNION ALL
    SELECT suggestion.dataset_id, 'tags', column_name, declared.tags || '["pii"]', declared.tags, 'ACCEPTED', decided_by,
           decided_at
    FROM catalog.sensitivity_suggestion suggestion
    JOIN catalog.dataset described USING (dataset_id)
    CROSS JOIN LATERAL (
        SELECT coalesce((
            SELECT item -> 'tags' FROM jsonb_array_elements(described.columns) AS item
            WHERE item ->> 'name' = column_name AND jsonb_typeof(item -> 'tags') = 'array'), '[]') AS tags
    ) declared
    WHERE suggestion.organisation_id = %(organisation)s
      AND suggestion.status = 'ACCEPTED'
      AND NOT catalog.is_declared_sensitive(suggestion.dataset_id, column_name)
) change
JOIN catalog.dataset USING (dataset_id)
WHERE %(dataset)s::text IS NULL OR full_name = %(dataset)s
ORDER BY full_name, "column", field, state
