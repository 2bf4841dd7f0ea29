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
           LIMIT %(most)s) AS outputs,
       metadata_json ->> 'type' AS job_type, metadata_json ->> 'machine' AS machine,
       metadata_json ->> 'schedule' AS schedule,
       (
           SELECT box.process_key
           FROM catalog.process box
           WHERE box.organisation_id = process.organisation_id
             AND box.technology = process.technology
             AND box.instance = process.instance
             AND box.external_name = process.metadata_json ->> 'box') AS box,
       ARRAY (
           SELECT member.process_key
           FROM catalog.process member
           WHERE process.metadata_json ->> 'type' = 'BOX'
             AND member.organisation_id = process.organisation_id
             AND member.process_key > concat_ws('/', process.technology, nullif(process.instance, ''), process.external_name, '')
             AND member.process_key < concat_ws('/', process.technology, nullif(process.instance, ''), process.external_name) || '0'
             AND member.metadata_json ->> 'box' = process.external_name
             AND member.lifecycle <> 'RETIRED'
           ORDER BY member.process_key
           LIMIT %(most)s) AS members,
       coalesce(place.file || ':' || place.line, metadata_json ->> 'declared_at') AS declared_at
FROM catalog.process
LEFT JOIN catalog.process_place place USING (process_id)
WHERE process.process_id = %(process_id)s
