-- Unprocessed alert events, in the order in which they were stored. One reader at a time.
SELECT * FROM catalog.alert_event
WHERE organisation_id = %(organisation)s AND processed_at IS NULL
ORDER BY transaction_id, alert_event_id
LIMIT %(limit)s
FOR UPDATE
