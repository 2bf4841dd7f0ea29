-- Subjects that are out of order, since when; and with since null those whose promises are all kept, this time's too.
SELECT cause_type AS subject_type, cause_key AS subject, coalesce(dataset_id, process_id) AS subject_id, NULL::text[] AS owners,
       opened_at AS since, reason, severity, run_id
FROM catalog.incident
WHERE organisation_id = %(organisation)s AND closed_at IS NULL AND cause_type <> 'SENSOR'
UNION ALL
SELECT CASE WHEN promise.dataset_id IS NULL THEN 'PROCESS' ELSE 'DATASET' END, coalesce(dataset.full_name, process.process_key),
       coalesce(promise.dataset_id, promise.process_id), coalesce(dataset.owners, process.owners),
       CASE WHEN bool_or(state IN ('AT_RISK', 'LATE', 'MISSED')) THEN
           min(promise.since) FILTER (WHERE state IN ('AT_RISK', 'LATE', 'MISSED')) END,
       min(promise.reason) FILTER (WHERE state IN ('AT_RISK', 'LATE', 'MISSED')),
       CASE WHEN bool_or(state IN ('LATE', 'MISSED')) THEN 'ERROR' ELSE 'WARNING' END, NULL
FROM catalog.sla_promise promise
LEFT JOIN catalog.dataset USING (dataset_id)
LEFT JOIN catalog.process ON process.process_id = promise.process_id
WHERE promise.organisation_id = %(organisation)s
GROUP BY promise.dataset_id, promise.process_id, dataset.full_name, process.process_key, dataset.owners, process.owners
HAVING bool_or(state IN ('AT_RISK', 'LATE', 'MISSED'))
    OR bool_and(state = 'ON_TRACK' AND (promise.met_at IS NOT NULL OR promise.kind NOT IN ('DELIVERY', 'START')))
