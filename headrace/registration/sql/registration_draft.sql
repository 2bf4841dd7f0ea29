-- An unknown dataset becomes a draft, described as requested.
INSERT INTO catalog.dataset (
    organisation_id, namespace, name, full_name, description, default_format, owners, tags, columns, status,
    metadata_json, declaration_hash
)
SELECT %(organisation)s, %(namespace)s, %(name)s, key, description, format, owners, tags, columns, 'DRAFT',
       '{"external": true}', ''
FROM jsonb_to_record(%(requested)s) AS asked (
    key text, description text, format text, owners text[], tags jsonb, columns jsonb
)
ON CONFLICT (organisation_id, full_name) DO NOTHING
