-- The SLAs that are new, or changed since their objectives were made. Of a retired dataset or process none apply.
SELECT sla_id, sla.dataset_id, sla.process_id,
       CASE WHEN dataset.status = 'RETIRED' OR process.lifecycle = 'RETIRED' THEN '{}' ELSE definition::text END AS definition
FROM catalog.sla
LEFT JOIN catalog.dataset ON dataset.dataset_id = sla.dataset_id
LEFT JOIN catalog.process ON process.process_id = sla.process_id
WHERE sla.organisation_id = %(organisation)s AND compiled_at IS DISTINCT FROM sla.updated_at
FOR UPDATE OF sla
