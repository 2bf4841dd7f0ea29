-- A dataset created for a name has the attributes in its facets; for other undeclared datasets, facets fill in missing
-- attributes.
UPDATE catalog.dataset SET
    description = CASE WHEN item.made THEN item.description ELSE coalesce(dataset.description, item.description) END,
    default_format = CASE
        WHEN item.made OR dataset.default_format = 'unknown' THEN coalesce(item.format, 'unknown')
        ELSE dataset.default_format
    END,
    owners = CASE WHEN item.made OR dataset.owners = '{}' THEN coalesce(item.owners, '{}') ELSE dataset.owners END,
    tags = CASE WHEN item.made OR dataset.tags = '{}' THEN coalesce(item.tags, '{}') ELSE dataset.tags END,
    columns = CASE WHEN item.made OR dataset.columns = '[]' THEN coalesce(item.columns, '[]') ELSE dataset.columns END,
    metadata_json = CASE WHEN item.made THEN item.metadata ELSE item.metadata || dataset.metadata_json END,
    updated_at = now()
FROM (
    SELECT given.*, EXISTS (SELECT FROM catalog.dataset_name WHERE name_id = given.dataset_id) AS made
    FROM jsonb_to_recordset(%(datasets)s) AS given (
        dataset_id uuid, description text, format text, owners text[], tags jsonb, columns jsonb, metadata jsonb
    )
) item
WHERE dataset.dataset_id = item.dataset_id
  AND (NOT item.made
       OR (dataset.description, dataset.default_format, dataset.owners, dataset.tags, dataset.columns, dataset.metadata_json)
           IS DISTINCT FROM (item.description, coalesce(item.format, 'unknown'), coalesce(item.owners, '{}'),
                             coalesce(item.tags, '{}'), coalesce(item.columns, '[]'), item.metadata))
