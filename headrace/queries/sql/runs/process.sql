SELECT process.process_id, process_key AS key, technology, instance, external_name, lifecycle, trigger_mode, owners,
       description, code_version, steps, source, metadata_json AS metadata, created_at, updated_at,
       ARRAY (
           SELECT dataset.full_name
           FROM catalog.lineage_edge edge
           JOIN catalog.dataset ON dataset.dataset_id = edge.source_id
           WHERE edge.target_id = process.process_id AND edge_role = 'CONSUMES' AND valid_to IS NULL
           ORDER BY dataset.full_name
           LIMIT %(most)s) AS inputs,
       ARRAY (
           SELECT dataset.full_name
           FROM catalog.lineage_edge edge
           JOIN catalog.dataset ON dataset.dataset_id = edge.target_id
           WHERE edge.source_id = process.process_id AND edge_role = 'PRODUCES' AND valid_to IS NULL
           ORDER BY dataset.full_name
           LIMIT %(most)s) AS outputs
FROM catalog.process
WHERE process.process_id = %(process_id)s
