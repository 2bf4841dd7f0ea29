-- When notifications were sent to some destinations since a moment.
SELECT destination, address, sent_at FROM catalog.notification
WHERE organisation_id = %(organisation)s AND destination = ANY (%(destinations)s) AND sent_at > %(since)s
