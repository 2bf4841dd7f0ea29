-- The messages of alerts, kept from the sender until the transaction ends.
SELECT * FROM catalog.alert_message
WHERE organisation_id = %(organisation)s AND alert_id = ANY (%(alerts)s)
ORDER BY message_id
FOR UPDATE
