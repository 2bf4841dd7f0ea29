SELECT objective_id, coalesce(dataset_id, process_id) AS subject_id, deadline, definition ->> 'timezone' AS timezone
FROM catalog.sla_objective
WHERE organisation_id = %(organisation)s
  AND kind = 'DELIVERY'
  AND met_at IS NULL
  AND state <> 'PAUSED'
  AND deadline > %(now)s
  AND deadline <= %(until)s
  AND (forecast_at IS NULL OR forecast_at <= %(before)s)
ORDER BY forecast_at NULLS FIRST, deadline, objective_id
LIMIT %(limit)s
