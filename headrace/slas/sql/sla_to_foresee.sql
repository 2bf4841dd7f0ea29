SELECT promise_id, coalesce(dataset_id, process_id) AS subject_id, deadline, definition ->> 'timezone' AS timezone
FROM catalog.sla_promise
WHERE organisation_id = %(organisation)s
  AND kind = 'DELIVERY'
  AND met_at IS NULL
  AND state <> 'PAUSED'
  AND deadline > %(now)s
  AND deadline <= %(until)s
  AND (foreseen_at IS NULL OR foreseen_at <= %(before)s)
ORDER BY foreseen_at NULLS FIRST, deadline, promise_id
LIMIT %(limit)s
