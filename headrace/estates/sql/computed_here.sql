-- The datasets, of these, that Spark computes here.
SELECT DISTINCT dataset.full_name, dataset.declared_at
FROM catalog.dataset
JOIN catalog.lineage_edge edge ON edge.target_id = dataset.dataset_id
JOIN catalog.process ON process.process_id = edge.source_id
WHERE dataset.organisation_id = %(organisation)s
  AND dataset.full_name = ANY (%(datasets)s::text[])
  AND edge.edge_role = 'PRODUCES'
  AND edge.valid_to IS NULL
  AND process.technology = 'SPARK'
