SELECT incident.incident_id, incident.cause_type, incident.cause_key, incident.dataset_id, incident.process_id,
       incident.severity, coalesce(dataset.owners, process.owners) AS owners
FROM catalog.incident
LEFT JOIN catalog.dataset USING (dataset_id)
LEFT JOIN catalog.process ON process.process_id = incident.process_id
WHERE incident.organisation_id = %(organisation)s AND closed_at IS NULL
