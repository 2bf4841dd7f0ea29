-- The notifications of an alert, in the order in which they are due.
SELECT * FROM catalog.notification
WHERE organisation_id = %(organisation)s AND alert_id = %(alert)s
ORDER BY due_at, step, destination, address, notification_id
