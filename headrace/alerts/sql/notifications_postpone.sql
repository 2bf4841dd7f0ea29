-- Postpone notifications beyond the rate limit of their destination.
UPDATE catalog.notification notification
SET next_try_at = pending.until
FROM jsonb_to_recordset(%(pending)s) AS pending (notification_id uuid, until timestamptz)
WHERE notification.notification_id = pending.notification_id AND notification.organisation_id = %(organisation)s
