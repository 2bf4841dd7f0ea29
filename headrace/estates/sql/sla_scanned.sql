-- Set the SLAs of scanned processes to those in their definitions, unless an SLA is declared.
WITH meant AS MATERIALIZED (
    SELECT process_id, metadata_json -> 'sla' AS definition
    FROM catalog.process
    WHERE organisation_id = %(organisation)s
      AND external_name IS NOT NULL
      AND lifecycle = 'ACTIVE'
      AND metadata_json ? 'sla'
), gone AS (
    DELETE FROM catalog.sla
    WHERE organisation_id = %(organisation)s
      AND origin = 'SCANNED'
      AND NOT EXISTS (SELECT FROM meant WHERE meant.process_id = sla.process_id)
)
INSERT INTO catalog.sla AS known (organisation_id, process_id, definition, origin)
SELECT %(organisation)s, process_id, definition, 'SCANNED' FROM meant ORDER BY process_id
ON CONFLICT (process_id) DO UPDATE SET definition = excluded.definition, updated_at = clock_timestamp()
    WHERE known.origin = 'SCANNED' AND known.definition <> excluded.definition
