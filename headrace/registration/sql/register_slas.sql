-- An SLA that is no longer declared becomes an empty one: the next evaluation removes it, and keeps its outcomes.
WITH declared AS MATERIALIZED (
    SELECT dataset.dataset_id, item.definition
    FROM jsonb_to_recordset(%(slas)s) AS item (dataset text, definition jsonb)
    JOIN catalog.dataset ON dataset.organisation_id = %(organisation)s AND dataset.full_name = item.dataset
), withdrawn AS (
    UPDATE catalog.sla
    SET definition = '{}', updated_at = now()
    FROM catalog.dataset
    WHERE sla.definition <> '{}' AND dataset.organisation_id = %(organisation)s
      AND dataset.full_name = ANY (%(datasets)s)
      AND sla.dataset_id = dataset.dataset_id
      AND NOT EXISTS (SELECT FROM declared WHERE declared.dataset_id = sla.dataset_id)
)
INSERT INTO catalog.sla AS known (organisation_id, dataset_id, definition)
SELECT %(organisation)s, dataset_id, definition FROM declared ORDER BY dataset_id
ON CONFLICT (dataset_id) DO UPDATE SET definition = excluded.definition, updated_at = now()
