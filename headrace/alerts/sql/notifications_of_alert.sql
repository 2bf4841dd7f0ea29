-- The notifications of an alert, ordered by due time.
SELECT * FROM catalog.notification
WHERE organisation_id = %(organisation)s AND alert_id = %(alert)s
ORDER BY due_at, step, destination, address, notification_id
