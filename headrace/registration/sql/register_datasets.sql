INSERT INTO catalog.dataset AS known (
    organisation_id, namespace, name, full_name, description, default_format, owners, tags, columns, partitions,
    metadata_json, declared_at, declaration_hash, project, partition_definition
)
SELECT %(organisation)s, namespace, name, full_name, description, default_format, owners, tags, columns, partitions,
       metadata_json, declared_at, declaration_hash, %(project)s, partition_definition
FROM jsonb_to_recordset(%(datasets)s) AS declared (
    namespace text, name text, full_name text, description text, default_format text, owners text[], tags jsonb,
    columns jsonb, partitions text, metadata_json jsonb, declared_at text, declaration_hash text,
    partition_definition jsonb
)
ORDER BY full_name
ON CONFLICT (organisation_id, full_name) DO UPDATE SET
    description = excluded.description,
    default_format = excluded.default_format,
    owners = excluded.owners,
    tags = excluded.tags,
    columns = excluded.columns,
    partitions = excluded.partitions,
    metadata_json = excluded.metadata_json,
    declared_at = excluded.declared_at,
    declaration_hash = excluded.declaration_hash,
    project = excluded.project,
    partition_definition = excluded.partition_definition,
    -- Declared for the first time, or again. A dataset that a person retired stays so while it is declared.
    status = CASE known.declaration_hash WHEN '' THEN 'ACTIVE' ELSE known.status END,
    updated_at = now()
