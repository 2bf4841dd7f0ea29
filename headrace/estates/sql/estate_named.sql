-- The processes with these technologies and names, of any instance.
SELECT technology, instance, external_name
FROM unnest(%(technologies)s::text[], %(names)s::text[]) AS wanted (technology, external_name)
JOIN catalog.process USING (technology, external_name)
WHERE organisation_id = %(organisation)s AND lifecycle <> 'RETIRED'
