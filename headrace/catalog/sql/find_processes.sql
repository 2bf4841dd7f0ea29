-- The process of each external name. A name of a scheduler that was never scanned belongs to the estate that was
-- scanned without an instance. An unknown one is stored as UNSCANNED if `make` is set, and omitted otherwise.
WITH named AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(processes)s) AS item (
        technology text, instance text, external_name text, short_key text, whole_key text
    )
), known AS MATERIALIZED (
    SELECT named.*, process.*
    FROM named
    LEFT JOIN LATERAL (
        SELECT process_id, process_key, stored.instance AS own_instance, metadata_json ->> 'box' AS box
        FROM catalog.process stored
        WHERE stored.organisation_id = %(organisation)s
          AND stored.technology = named.technology
          AND stored.external_name = named.external_name
          AND stored.instance IN (named.instance, '')
          AND (stored.instance = named.instance OR stored.lifecycle <> 'UNSCANNED' AND NOT EXISTS (
              SELECT FROM catalog.estate_scan
              WHERE estate_scan.organisation_id = %(organisation)s AND estate_scan.instance = named.instance
          ))
        ORDER BY stored.lifecycle = 'UNSCANNED', stored.instance DESC
        LIMIT 1
    ) process ON true
), made AS (
    INSERT INTO catalog.process (
        organisation_id, process_key, technology, trigger_mode, owners, steps, metadata_json, declaration_hash, instance,
        external_name, lifecycle
    )
    SELECT %(organisation)s,
           catalog.external_key(%(organisation)s, technology, instance, external_name, short_key, whole_key),
           technology, 'PROCESS', '{}', '[]', '{}', '', instance, external_name, 'UNSCANNED'
    FROM known
    WHERE process_id IS NULL AND %(make)s::boolean
    ORDER BY short_key
    RETURNING process_id, process_key, technology, instance, external_name
)
SELECT technology, instance, external_name, process_id, process_key, own_instance, box, false AS made
FROM known
WHERE process_id IS NOT NULL
UNION ALL
SELECT technology, instance, external_name, process_id, process_key, instance, NULL, true FROM made
