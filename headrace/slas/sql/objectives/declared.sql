-- Declared SLAs of the jobs of an instance, and of datasets by their keys.
SELECT external_name AS name, sla.definition
FROM catalog.sla
JOIN catalog.process USING (process_id)
WHERE sla.organisation_id = %(organisation)s
  AND sla.origin = 'DECLARED'
  AND process.technology = 'AUTOSYS'
  AND process.instance = %(instance)s
  AND external_name IS NOT NULL
UNION ALL
SELECT full_name, sla.definition
FROM catalog.sla
JOIN catalog.dataset USING (dataset_id)
WHERE sla.organisation_id = %(organisation)s
ORDER BY name
