INSERT INTO catalog.dataset (
    dataset_id, organisation_id, namespace, name, full_name, default_format, owners, tags, columns, status, metadata_json,
    declaration_hash
)
VALUES (
    %(dataset_id)s, %(organisation)s, %(namespace)s, %(name)s, %(full_name)s, 'unknown', '{}', '{}', '[]', 'DRAFT',
    '{"external": true}', ''
)
ON CONFLICT (dataset_id) DO NOTHING
