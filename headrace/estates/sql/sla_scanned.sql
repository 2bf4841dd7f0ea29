-- Set the SLAs of scanned processes to those in their definitions, unless an SLA is declared. One that is gone becomes
-- empty, and the next evaluation removes it.
WITH meant AS MATERIALIZED (
    SELECT process_id, metadata_json -> 'sla' AS definition
    FROM catalog.process
    WHERE organisation_id = %(organisation)s
      AND external_name IS NOT NULL
      AND lifecycle = 'ACTIVE'
      AND metadata_json ? 'sla'
), gone AS (
    UPDATE catalog.sla
    SET definition = '{}', updated_at = clock_timestamp()
    WHERE organisation_id = %(organisation)s
      AND definition <> '{}'
      AND origin = 'SCANNED'
      AND NOT EXISTS (SELECT FROM meant WHERE meant.process_id = sla.process_id)
)
INSERT INTO catalog.sla AS known (organisation_id, process_id, definition, origin)
SELECT %(organisation)s, process_id, definition, 'SCANNED' FROM meant ORDER BY process_id
ON CONFLICT (process_id) DO UPDATE SET definition = excluded.definition, updated_at = clock_timestamp()
    WHERE known.origin = 'SCANNED' AND known.definition <> excluded.definition
