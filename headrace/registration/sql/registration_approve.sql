-- Apply an approved request.
UPDATE catalog.dataset SET
    description = coalesce(asked.description, dataset.description),
    default_format = asked.format,
    owners = CASE WHEN cardinality(asked.owners) > 0 THEN asked.owners ELSE dataset.owners END,
    tags = dataset.tags || asked.tags,
    columns = CASE WHEN asked.columns <> '[]' THEN asked.columns ELSE dataset.columns END,
    status = 'ACTIVE',
    updated_at = now()
FROM jsonb_to_record(%(requested)s) AS asked (
    description text, format text, owners text[], tags jsonb, columns jsonb
)
WHERE dataset_id = %(dataset_id)s
