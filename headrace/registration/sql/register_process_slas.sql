-- An SLA that is no longer declared becomes an empty one: the next evaluation removes it, and keeps its outcomes.
WITH declared AS MATERIALIZED (
    SELECT process.process_id, item.definition
    FROM jsonb_to_recordset(%(slas)s) AS item (process text, definition jsonb)
    JOIN catalog.process ON process.organisation_id = %(organisation)s AND process.process_key = item.process
), withdrawn AS (
    UPDATE catalog.sla
    SET definition = '{}', updated_at = now()
    FROM catalog.process
    WHERE sla.definition <> '{}' AND process.organisation_id = %(organisation)s
      AND process.process_key = ANY (%(processes)s)
      AND sla.process_id = process.process_id
      AND NOT EXISTS (SELECT FROM declared WHERE declared.process_id = sla.process_id)
)
INSERT INTO catalog.sla AS known (organisation_id, process_id, definition)
SELECT %(organisation)s, process_id, definition FROM declared ORDER BY process_id
ON CONFLICT (process_id) DO UPDATE SET definition = excluded.definition, origin = 'DECLARED', updated_at = now()
