-- Notifications whose start was recorded but did not happen: they are rendered again when it does.
UPDATE catalog.notification
SET tries = tries - 1, next_try_at = %(next_try_at)s,
    title = CASE WHEN tries > 1 THEN title END, body = CASE WHEN tries > 1 THEN body END
WHERE organisation_id = %(organisation)s AND notification_id = ANY (%(notifications)s)
