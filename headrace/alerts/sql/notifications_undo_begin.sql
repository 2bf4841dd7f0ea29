-- Messages whose sending was written down as begun, and did not begin: their words will be those of when it does.
UPDATE catalog.notification
SET tries = tries - 1, next_try_at = %(next_try_at)s,
    title = CASE WHEN tries > 1 THEN title END, body = CASE WHEN tries > 1 THEN body END
WHERE organisation_id = %(organisation)s AND notification_id = ANY (%(notifications)s)
