-- One step from each node, with the data or against it, to the nodes that the caller may see.
SELECT step.near, step.far, step.role, step.condition, coalesce(dataset.full_name, process.process_key) AS key,
       CASE WHEN dataset.dataset_id IS NULL THEN 'PROCESS' ELSE 'DATASET' END AS kind
FROM catalog.process_steps(%(ids)s, %(up)s, %(at)s) AS step
LEFT JOIN catalog.dataset ON dataset.dataset_id = step.far
LEFT JOIN catalog.process ON process.process_id = step.far
WHERE dataset.dataset_id IS NOT NULL OR process.process_id IS NOT NULL
