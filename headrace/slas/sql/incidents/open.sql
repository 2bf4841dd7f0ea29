-- The open incidents; apart: a member waits for nothing.
SELECT incident.incident_id, incident.cause_type, incident.cause_key, incident.dataset_id, incident.process_id,
       incident.reason, incident.severity, incident.run_id, incident.waits, incident.holds, incident.opened_at,
       coalesce(dataset.owners, process.owners) AS owners,
       EXISTS (
           SELECT FROM catalog.sla_objective objective
           WHERE objective.incident_id = incident.incident_id
             AND (kind = 'VOLUME' OR (kind = 'RUN_TIME' AND state = 'MISSED'))
       ) AS apart
FROM catalog.incident
LEFT JOIN catalog.dataset USING (dataset_id)
LEFT JOIN catalog.process ON process.process_id = incident.process_id
WHERE incident.organisation_id = %(organisation)s AND closed_at IS NULL
