SELECT dataset_id AS id, 'DATASET' AS kind, full_name AS key FROM catalog.dataset WHERE dataset_id = ANY (%(ids)s::uuid[])
UNION ALL
SELECT process_id, 'PROCESS', process_key FROM catalog.process WHERE process_id = ANY (%(ids)s::uuid[])
