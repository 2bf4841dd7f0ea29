-- Open issues: the causes of open incidents that have not arrived since, and subjects with missed or at-risk
-- objectives. waits: something has not arrived; holds: others wait for it (a version that is too small, or a run that
-- was too short, delays no one).
SELECT cause_type AS subject_type, cause_key AS subject, coalesce(incident.dataset_id, incident.process_id) AS subject_id,
       coalesce(dataset.owners, process.owners) AS owners, opened_at AS since, reason, severity, run_id, waits, holds,
       NULL::timestamptz AS opens_at, arrived.at AS last_arrival_at, incident_id
FROM catalog.incident
LEFT JOIN catalog.dataset USING (dataset_id)
LEFT JOIN catalog.process ON process.process_id = incident.process_id
LEFT JOIN LATERAL (
    (
        SELECT produced_at AS at, produced_at AS ended_at
        FROM catalog.dataset_version version
        WHERE version.dataset_id = incident.dataset_id AND outcome = 'PUBLISHED' AND produced_at <= %(now)s
        ORDER BY produced_at DESC, dataset_version_id
        LIMIT 1
    )
    UNION ALL
    (
        SELECT start_ts, end_ts
        FROM catalog.process_run run
        WHERE run.process_id = incident.process_id AND status = 'SUCCESS' AND end_ts <= %(now)s
        ORDER BY start_ts DESC
        LIMIT 1
    )
) arrived ON true
WHERE incident.organisation_id = %(organisation)s
  AND closed_at IS NULL
  AND cause_type <> 'SENSOR'
  AND (arrived.ended_at IS NULL OR arrived.ended_at <= opened_at)
UNION ALL
SELECT CASE WHEN objective.dataset_id IS NULL THEN 'PROCESS' ELSE 'DATASET' END, coalesce(dataset.full_name, process.process_key),
       coalesce(objective.dataset_id, objective.process_id), coalesce(dataset.owners, process.owners), min(objective.since),
       min(objective.reason), CASE WHEN bool_or(state IN ('LATE', 'MISSED')) THEN 'ERROR' ELSE 'WARNING' END, NULL, flag.waits,
       flag.holds, min(objective.opens_at), max(objective.newest_at) FILTER (WHERE objective.dataset_id IS NOT NULL),
       (array_agg(objective.incident_id ORDER BY objective.since))[1]
FROM catalog.sla_objective objective
CROSS JOIN LATERAL (
    SELECT kind IN ('DELIVERY', 'AGE', 'START') AS waits, kind <> 'VOLUME' AND (kind <> 'RUN_TIME' OR state <> 'MISSED') AS holds
) flag
LEFT JOIN catalog.dataset USING (dataset_id)
LEFT JOIN catalog.process ON process.process_id = objective.process_id
WHERE objective.organisation_id = %(organisation)s AND state IN ('AT_RISK', 'LATE', 'MISSED')
GROUP BY objective.dataset_id, objective.process_id, dataset.full_name, process.process_key, dataset.owners, process.owners,
         flag.waits, flag.holds
