SELECT sla_id, dataset_id, process_id, definition::text
FROM catalog.sla
WHERE organisation_id = %(organisation)s AND compiled_at IS DISTINCT FROM updated_at
FOR UPDATE
