-- Datasets with a trigger, by the process that computes them, and for each input the processes that write it: names of jobs
-- of an instance, or keys of Spark processes.
SELECT reader.process_key AS name, reader.metadata_json -> 'trigger' AS trigger,
       coalesce(reader.metadata_json -> 'sends', '[]') AS sends, dataset.full_name AS input,
       coalesce(
           array_agg(DISTINCT CASE producer.technology WHEN 'AUTOSYS' THEN producer.external_name ELSE producer.process_key END)
               FILTER (WHERE producer.process_id IS NOT NULL),
           '{}'
       ) AS producers
FROM catalog.process AS reader
LEFT JOIN catalog.lineage_edge AS consumed
    ON consumed.target_id = reader.process_id AND consumed.edge_role = 'CONSUMES' AND consumed.valid_to IS NULL
LEFT JOIN catalog.dataset ON dataset.dataset_id = consumed.source_id
LEFT JOIN catalog.lineage_edge AS produced
    ON produced.target_id = consumed.source_id AND produced.edge_role = 'PRODUCES' AND produced.valid_to IS NULL
LEFT JOIN catalog.process AS producer
    ON producer.process_id = produced.source_id AND producer.process_id <> reader.process_id
    AND (producer.technology = 'SPARK' OR (producer.technology = 'AUTOSYS' AND producer.instance = %(instance)s))
WHERE reader.organisation_id = %(organisation)s
  AND reader.technology = 'SPARK'
  AND reader.lifecycle = 'ACTIVE'
  AND reader.metadata_json ? 'trigger'
GROUP BY reader.process_key, reader.metadata_json, dataset.full_name
ORDER BY name, input
