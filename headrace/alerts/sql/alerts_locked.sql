-- Alerts, locked until the transaction ends.
SELECT * FROM catalog.alert
WHERE organisation_id = %(organisation)s AND alert_id = ANY (%(alerts)s)
ORDER BY alert_id
FOR UPDATE
