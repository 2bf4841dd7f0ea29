-- The notifications of alerts, locked until the transaction ends.
SELECT * FROM catalog.notification
WHERE organisation_id = %(organisation)s AND alert_id = ANY (%(alerts)s)
ORDER BY notification_id
FOR UPDATE
