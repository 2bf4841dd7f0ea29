-- Moves what stands in these stretches of files, as the newest scan of the instance found them, by so many lines.
UPDATE catalog.process_text place SET line = place.line + shift.by, text_line = place.text_line + shift.by
FROM unnest(%(files)s::text[], %(firsts)s::integer[], %(lasts)s::integer[], %(bys)s::integer[])
    AS shift (file, first, last, by), catalog.process
WHERE place.organisation_id = %(organisation)s
  AND place.file = shift.file
  AND place.text_line BETWEEN shift.first AND shift.last
  AND process.process_id = place.process_id
  AND process.technology = 'AUTOSYS'
  AND process.instance = %(instance)s
