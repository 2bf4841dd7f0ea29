-- The original text of an instance: its active jobs, and its other objects. A job's kind is job.
SELECT 'job' AS kind, external_name AS name, place.file, place.text_line AS line, source
FROM catalog.process
JOIN catalog.process_place place USING (process_id)
WHERE process.organisation_id = %(organisation)s
  AND technology = 'AUTOSYS'
  AND instance = %(instance)s
  AND lifecycle = 'ACTIVE'
UNION ALL
SELECT kind, name, file, line, source
FROM catalog.estate_object
WHERE organisation_id = %(organisation)s AND instance = %(instance)s
ORDER BY file, line
