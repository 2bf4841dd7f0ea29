-- Positions of processes in the files of an estate.

CREATE OR REPLACE VIEW catalog.process_place WITH (security_invoker = true) AS
SELECT process_id, text.organisation_id, block_id, file, line + moved AS line, text_line + moved AS text_line, text_digest,
       lost
FROM catalog.process_text text
JOIN catalog.text_block USING (block_id);
