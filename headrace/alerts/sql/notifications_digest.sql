-- New digests, each of which contains several notifications.
INSERT INTO catalog.notification (
    notification_id, organisation_id, destination, address, purpose, severity, step, round, state, due_at, decided_at, tries,
    next_try_at
)
SELECT notification_id, %(organisation)s, destination, address, 'DIGEST', severity, 0, 0, 'PENDING', %(now)s, %(now)s, 0, %(now)s
FROM jsonb_to_recordset(%(digests)s) AS made (notification_id uuid, destination text, address text, severity text)
