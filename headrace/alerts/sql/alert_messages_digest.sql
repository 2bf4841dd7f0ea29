-- New messages that tell several others in one.
INSERT INTO catalog.alert_message (
    message_id, organisation_id, destination, address, purpose, severity, step, round, state, due_at, decided_at, tries,
    next_try_at
)
SELECT message_id, %(organisation)s, destination, address, 'DIGEST', severity, 0, 0, 'WAITING', %(now)s, %(now)s, 0, %(now)s
FROM jsonb_to_recordset(%(digests)s) AS made (message_id uuid, destination text, address text, severity text)
