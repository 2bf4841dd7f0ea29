-- Store decided alerts.
INSERT INTO catalog.alert (
    alert_id, organisation_id, incident_id, subject_type, subject, dataset_id, process_id, owners, kind, severity, state,
    at, opened_at, facts, affected, breaches, route, round, event_count, next_at, closed_at,
    acknowledged_at, acknowledged_by, acknowledged_until, comment, acknowledgements
)
SELECT alert_id, %(organisation)s, incident_id, subject_type, subject,
       CASE subject_type WHEN 'DATASET' THEN subject_id END, CASE subject_type WHEN 'PROCESS' THEN subject_id END,
       ARRAY(SELECT jsonb_array_elements_text(owners)), kind, severity, state,
       at, opened_at, facts, affected, breaches, route, round, event_count, next_at, closed_at,
       acknowledged_at, acknowledged_by, acknowledged_until, comment, acknowledgements
FROM jsonb_to_recordset(%(alerts)s) AS decided (
    alert_id uuid, incident_id uuid, subject_type text, subject text, subject_id uuid, owners jsonb, kind text,
    severity text, state text, at timestamptz, opened_at timestamptz, facts jsonb, affected jsonb, breaches jsonb,
    route text, round integer, event_count integer, next_at timestamptz, closed_at timestamptz, acknowledged_at timestamptz,
    acknowledged_by text, acknowledged_until timestamptz, comment text, acknowledgements jsonb
)
ON CONFLICT (alert_id) DO UPDATE SET
    subject_type = excluded.subject_type, subject = excluded.subject, dataset_id = excluded.dataset_id,
    process_id = excluded.process_id, owners = excluded.owners, kind = excluded.kind, severity = excluded.severity,
    state = excluded.state, at = excluded.at, opened_at = excluded.opened_at, facts = excluded.facts, affected = excluded.affected,
    breaches = excluded.breaches, route = excluded.route, round = excluded.round, event_count = excluded.event_count,
    next_at = excluded.next_at, closed_at = excluded.closed_at, acknowledged_at = excluded.acknowledged_at,
    acknowledged_by = excluded.acknowledged_by, acknowledged_until = excluded.acknowledged_until,
    comment = excluded.comment, acknowledgements = excluded.acknowledgements
