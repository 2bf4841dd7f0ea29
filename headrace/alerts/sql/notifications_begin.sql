-- Record the start of a try: whatever happens now, the notification is retried unless its end is recorded.
UPDATE catalog.notification notification
SET tries = notification.tries + 1, next_try_at = begun.next_try_at, title = begun.title, body = begun.body
FROM jsonb_to_recordset(%(begun)s) AS begun (notification_id uuid, next_try_at timestamptz, title text, body text)
WHERE notification.notification_id = begun.notification_id AND notification.organisation_id = %(organisation)s
