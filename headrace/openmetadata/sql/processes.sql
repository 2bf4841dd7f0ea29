-- Processes. processes: null for all.
SELECT process_id, process_key AS key, description, technology, owners, steps, source, lifecycle, project,
       metadata_json ->> 'schedule' AS schedule
FROM catalog.process
WHERE organisation_id = %(organisation)s
  AND (%(processes)s::uuid[] IS NULL OR process_id = ANY (%(processes)s))
ORDER BY process_key
