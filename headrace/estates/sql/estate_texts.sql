-- Move texts to their current places, in new blocks.
WITH last AS MATERIALIZED (
    SELECT coalesce(max(block_id), 0) AS block_id FROM catalog.text_block
), made AS (
    INSERT INTO catalog.text_block (block_id, organisation_id)
    SELECT DISTINCT last.block_id + block, %(organisation)s::uuid FROM scanned_text CROSS JOIN last
)
INSERT INTO catalog.process_text AS known (
    process_id, organisation_id, block_id, file, line, text_line, text_digest, lost
)
SELECT process.process_id, %(organisation)s, last.block_id + block, file, line, text_line, text_digest, lost
FROM scanned_text
CROSS JOIN last
JOIN catalog.process USING (technology, instance, external_name)
WHERE process.organisation_id = %(organisation)s
ON CONFLICT (process_id) DO UPDATE SET
    block_id = excluded.block_id,
    file = excluded.file,
    line = excluded.line,
    text_line = excluded.text_line,
    text_digest = excluded.text_digest,
    lost = excluded.lost
