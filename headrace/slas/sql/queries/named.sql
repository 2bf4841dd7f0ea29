SELECT dataset_id AS subject_id FROM catalog.dataset WHERE organisation_id = %(organisation)s AND full_name = %(key)s
UNION ALL
SELECT process_id FROM catalog.process WHERE organisation_id = %(organisation)s AND process_key = %(key)s
LIMIT 1
