INSERT INTO catalog.process AS known (
    organisation_id, process_key, description, technology, trigger_mode, owners, code_version, steps, source,
    metadata_json, declaration_hash, project
)
SELECT %(organisation)s, process_key, description, technology, trigger_mode, owners, code_version, steps, source,
       metadata_json, declaration_hash, %(project)s
FROM jsonb_to_recordset(%(processes)s) AS declared (
    process_key text, description text, technology text, trigger_mode text, owners text[], code_version text,
    steps jsonb, source text, metadata_json jsonb, declaration_hash text
)
ORDER BY process_key
ON CONFLICT (organisation_id, process_key) DO UPDATE SET
    description = excluded.description,
    technology = excluded.technology,
    trigger_mode = excluded.trigger_mode,
    owners = excluded.owners,
    code_version = excluded.code_version,
    steps = excluded.steps,
    source = excluded.source,
    metadata_json = excluded.metadata_json,
    declaration_hash = excluded.declaration_hash,
    project = excluded.project,
    lifecycle = CASE WHEN known.declaration_hash = '' AND known.external_name IS NULL THEN 'ACTIVE' ELSE known.lifecycle END,
    updated_at = now()
