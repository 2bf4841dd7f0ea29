-- The external processes with these names or keys.
SELECT process_key, technology, instance, external_name, lifecycle
FROM catalog.process
WHERE organisation_id = %(organisation)s
  AND external_name IS NOT NULL
  AND (external_name = ANY (%(names)s::text[]) OR process_key = ANY (%(names)s::text[]))
ORDER BY process_key
