-- Store the alert events in the table `happened` of this transaction.
INSERT INTO catalog.alert_event (
    organisation_id, kind, severity, subject_type, subject, dataset_id, process_id, owners, incident_id, at, detected_at, facts
)
SELECT %(organisation)s, kind, severity, subject_type, subject, CASE subject_type WHEN 'DATASET' THEN subject_id END,
       CASE subject_type WHEN 'PROCESS' THEN subject_id END, owners, incident_id, at, %(now)s, facts::jsonb
FROM pg_temp.happened
ORDER BY place
