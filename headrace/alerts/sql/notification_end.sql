-- Record the outcome of a try. A refused notification is rendered again for the next one, with the ages of that time. A
-- notification that was dropped while it was being sent counts as sent. The notifications in a digest that is given up
-- are given up with it.
WITH ended AS (
    UPDATE catalog.notification
    SET state = CASE WHEN %(sent)s THEN 'SENT' WHEN state = 'PENDING' AND %(failed)s THEN 'FAILED' ELSE state END,
        sent_at = CASE WHEN %(sent)s THEN %(now)s ELSE sent_at END,
        reason = %(reason)s,
        title = CASE WHEN %(sent)s OR %(failed)s OR state <> 'PENDING' THEN title END,
        body = CASE WHEN %(sent)s OR %(failed)s OR state <> 'PENDING' THEN body END
    WHERE organisation_id = %(organisation)s AND notification_id = %(notification)s
    RETURNING notification_id, state
)
UPDATE catalog.notification notification
SET state = 'FAILED', reason = %(reason)s
FROM ended
WHERE notification.organisation_id = %(organisation)s AND notification.digest_id = ended.notification_id AND ended.state = 'FAILED'
