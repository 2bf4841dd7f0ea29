-- Datasets and processes whose objectives are all met or met late, including the current ones.
SELECT coalesce(dataset_id, process_id) AS subject_id
FROM catalog.sla_objective
WHERE organisation_id = %(organisation)s
GROUP BY 1
HAVING bool_and(
    state = 'MET_LATE' OR (state = 'ON_TRACK' AND (met_at IS NOT NULL OR kind NOT IN ('DELIVERY', 'START')))
)
