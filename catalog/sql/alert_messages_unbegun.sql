-- Messages whose sending was written down as begun, and did not begin.
UPDATE catalog.alert_message
SET tries = tries - 1, next_try_at = %(next_try_at)s
WHERE organisation_id = %(organisation)s AND message_id = ANY (%(messages)s)
