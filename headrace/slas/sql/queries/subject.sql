SELECT
FROM (
    SELECT dataset_id AS subject_id FROM catalog.dataset WHERE organisation_id = %(organisation)s AND full_name = %(key)s
    UNION ALL
    SELECT process_id FROM catalog.process WHERE organisation_id = %(organisation)s AND process_key = %(key)s
) named
WHERE EXISTS (SELECT FROM catalog.sla_objective WHERE dataset_id = named.subject_id OR process_id = named.subject_id)
   OR EXISTS (SELECT FROM catalog.sla_outcome outcome WHERE outcome.subject_id = named.subject_id)
LIMIT 1
