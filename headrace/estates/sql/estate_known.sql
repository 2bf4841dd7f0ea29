-- The known jobs of an instance, and the known processes of systems without instances.
SELECT process.technology, process.external_name, process.lifecycle, place.file, place.line, place.text_line,
       place.text_digest, place.lost, place.block_id
FROM catalog.process
LEFT JOIN catalog.process_place place USING (process_id)
WHERE process.organisation_id = %(organisation)s
  AND process.external_name IS NOT NULL
  AND (process.technology <> 'AUTOSYS' OR process.instance = %(instance)s)
