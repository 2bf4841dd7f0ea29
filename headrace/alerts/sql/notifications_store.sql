-- Store decided notifications. A known one is unchanged: it may have been sent.
INSERT INTO catalog.notification (
    notification_id, organisation_id, alert_id, destination, address, purpose, severity, step, round, subjects, state,
    due_at, decided_at, tries, next_try_at
)
SELECT decided.notification_id, %(organisation)s, decided.alert_id, decided.destination, decided.address,
       decided.purpose, decided.severity, decided.step, decided.round, ARRAY(SELECT jsonb_array_elements_text(decided.subjects)),
       'PENDING', decided.due_at, decided.decided_at, 0,
       decided.due_at
FROM jsonb_to_recordset(%(notifications)s) AS decided (
    notification_id uuid, alert_id uuid, destination text, address text, purpose text, severity text, step integer,
    round integer, subjects jsonb, due_at timestamptz, decided_at timestamptz
)
ON CONFLICT (notification_id) DO NOTHING
