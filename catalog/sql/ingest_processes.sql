-- The process of each name that another system uses; one that nobody has heard of is kept as UNSCANNED, if
-- `make` says so, and is left out otherwise.
WITH named AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(processes)s) AS item (
        technology text, instance text, external_name text, process_key text
    )
), known AS MATERIALIZED (
    SELECT named.*, process.process_id, process.process_key AS known_key
    FROM named
    LEFT JOIN LATERAL (
        SELECT process_id, stored.process_key
        FROM catalog.process stored
        WHERE stored.organisation_id = %(organisation)s
          AND stored.technology = named.technology
          AND stored.instance = named.instance
          AND stored.external_name = named.external_name
        UNION ALL
        SELECT process_id, stored.process_key
        FROM catalog.process stored
        WHERE stored.organisation_id = %(organisation)s AND stored.process_key = named.process_key
        LIMIT 1
    ) process ON true
), made AS (
    INSERT INTO catalog.process (
        organisation_id, process_key, technology, trigger_mode, owners, steps, metadata_json, declaration_hash, instance,
        external_name, standing
    )
    SELECT %(organisation)s, process_key, technology, 'PROCESS', '{}', '[]', '{}', '', instance, external_name, 'UNSCANNED'
    FROM known
    WHERE process_id IS NULL AND %(make)s::boolean
    ORDER BY process_key
    RETURNING process_id, process_key, technology, instance, external_name
)
SELECT technology, instance, external_name, process_id, known_key AS process_key, false AS made
FROM known
WHERE process_id IS NOT NULL
UNION ALL
SELECT technology, instance, external_name, process_id, process_key, true FROM made
