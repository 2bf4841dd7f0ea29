SELECT 'DATASET' AS subject_type, full_name AS subject, dataset_id AS subject_id, owners
FROM catalog.dataset WHERE dataset_id = ANY (%(ids)s)
UNION ALL
SELECT 'PROCESS', process_key, process_id, owners FROM catalog.process WHERE process_id = ANY (%(ids)s)
