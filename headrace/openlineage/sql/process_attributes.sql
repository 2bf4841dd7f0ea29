UPDATE catalog.process SET
    description = item.description,
    owners = item.owners,
    code_version = item.code_version,
    source = item.source,
    metadata_json = item.metadata,
    updated_at = now()
FROM jsonb_to_recordset(%(processes)s) AS item (
    process_id uuid, description text, owners text[], code_version text, source text, metadata jsonb
)
WHERE process.process_id = item.process_id
  AND (process.description, process.owners, process.code_version, process.source, process.metadata_json)
      IS DISTINCT FROM (item.description, item.owners, item.code_version, item.source, item.metadata)
