INSERT INTO catalog.process_text AS known (
    process_id, organisation_id, file, line, text_line, text_digest, lost
)
SELECT process.process_id, %(organisation)s, file, line, text_line, text_digest, lost
FROM scanned_text
JOIN catalog.process USING (technology, instance, external_name)
WHERE process.organisation_id = %(organisation)s
ON CONFLICT (process_id) DO UPDATE SET
    file = excluded.file,
    line = excluded.line,
    text_line = excluded.text_line,
    text_digest = excluded.text_digest,
    lost = excluded.lost
