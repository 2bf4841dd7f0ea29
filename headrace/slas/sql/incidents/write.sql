INSERT INTO catalog.incident (
    incident_id, organisation_id, cause_type, cause_key, dataset_id, process_id, reason, severity, run_id, waits, holds,
    opened_at
)
SELECT incident_id, %(organisation)s, cause_type, cause_key, CASE cause_type WHEN 'DATASET' THEN cause_id END,
       CASE cause_type WHEN 'PROCESS' THEN cause_id END, reason, severity, run_id, waits, holds, opened_at
FROM jsonb_to_recordset(%(incidents)s) AS item (
    incident_id uuid, cause_type text, cause_key text, cause_id uuid, reason text, severity text, run_id uuid,
    waits boolean, holds boolean, opened_at timestamptz
)
ON CONFLICT (incident_id) DO UPDATE
    SET cause_type = excluded.cause_type, cause_key = excluded.cause_key, dataset_id = excluded.dataset_id,
        process_id = excluded.process_id, reason = excluded.reason, severity = excluded.severity, run_id = excluded.run_id,
        waits = excluded.waits, holds = excluded.holds
