-- Activate a process, with the attributes given by a person.
UPDATE catalog.process SET
    lifecycle = 'ACTIVE',
    process_key = catalog.external_key(
        organisation_id, technology, instance, external_name, %(short_key)s::text, %(whole_key)s::text
    ),
    owners = %(owners)s::text[],
    metadata_json = metadata_json - 'box' || %(metadata)s::jsonb,
    updated_at = now()
WHERE organisation_id = %(organisation)s AND process_id = %(process)s
RETURNING process_key
