-- Takes over unscanned and retired processes, under their existing ids.
INSERT INTO catalog.process AS known (
    organisation_id, process_key, description, technology, trigger_mode, owners, steps, source, metadata_json,
    declaration_hash, instance, external_name, lifecycle
)
SELECT %(organisation)s, catalog.external_key(%(organisation)s, technology, instance, external_name, short_key, whole_key),
       description, technology, 'PROCESS', owners, '[]', source, metadata_json, declaration_hash, instance, external_name,
       'ACTIVE'
FROM scanned_process
ORDER BY short_key
ON CONFLICT (organisation_id, technology, instance, external_name) WHERE external_name IS NOT NULL DO UPDATE SET
    process_key = excluded.process_key,
    description = excluded.description,
    owners = excluded.owners,
    source = excluded.source,
    metadata_json = excluded.metadata_json,
    declaration_hash = excluded.declaration_hash,
    lifecycle = 'ACTIVE',
    updated_at = now()
