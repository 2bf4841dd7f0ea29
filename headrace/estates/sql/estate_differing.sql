-- Processes that are stored differently, with their stored attributes.
SELECT technology, external_name, metadata_json -> 'attributes' AS attributes
FROM unnest(%(technologies)s::text[], %(names)s::text[], %(hashes)s::text[])
    AS found (technology, external_name, found_hash)
JOIN catalog.process USING (technology, external_name)
WHERE process.organisation_id = %(organisation)s
  AND process.instance = CASE technology WHEN 'AUTOSYS' THEN %(instance)s ELSE '' END
  AND declaration_hash <> found_hash
