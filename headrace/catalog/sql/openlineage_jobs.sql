WITH item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(jobs)s) AS item (
        ordinal int, process_id uuid, process_key text, job_namespace text, job_name text
    )
), known AS MATERIALIZED (
    SELECT item.ordinal, process.process_id
    FROM item
    JOIN catalog.process USING (job_namespace, job_name)
    WHERE process.organisation_id = %(organisation)s
    UNION ALL
    SELECT item.ordinal, process.process_id
    FROM item
    JOIN catalog.process USING (process_key)
    WHERE item.job_name IS NULL AND process.organisation_id = %(organisation)s
), made AS (
    INSERT INTO catalog.process (
        process_id, organisation_id, process_key, technology, trigger_mode, owners, steps, metadata_json, declaration_hash,
        job_namespace, job_name
    )
    SELECT process_id, %(organisation)s, process_key, 'EXTERNAL', 'PROCESS', '{}', '[]', '{}', '', job_namespace, job_name
    FROM item
    WHERE ordinal NOT IN (SELECT ordinal FROM known)
    ORDER BY process_id
    RETURNING process_id
)
SELECT ordinal, process_id FROM known
UNION ALL
SELECT item.ordinal, made.process_id FROM made JOIN item USING (process_id)
