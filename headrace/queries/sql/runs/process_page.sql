SELECT process_id, process_key AS key, technology, instance, external_name, lifecycle, owners, description
FROM catalog.process
WHERE organisation_id = %(organisation)s
  AND process_key > %(after)s
  AND (%(technology)s::text IS NULL OR technology = %(technology)s)
  AND (%(lifecycle)s::text IS NULL OR lifecycle = %(lifecycle)s)
  AND concat_ws(' ', process_key, description, array_to_string(owners, ' ')) ILIKE ALL (%(words)s::text[])
ORDER BY process_key
LIMIT %(limit)s
