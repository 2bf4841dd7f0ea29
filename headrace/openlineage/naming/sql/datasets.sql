INSERT INTO catalog.dataset (
    dataset_id, organisation_id, namespace, name, full_name, default_format, owners, tags, columns, status, metadata_json,
    declaration_hash
)
SELECT dataset_id, %(organisation)s, namespace, name, full_name, 'unknown', '{}', '{}', '[]', 'DRAFT', '{"external": true}', ''
FROM jsonb_to_recordset(%(datasets)s) AS item (dataset_id uuid, namespace text, name text, full_name text)
ON CONFLICT (dataset_id) DO NOTHING
