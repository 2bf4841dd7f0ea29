-- Drop notifications that are no longer needed.
UPDATE catalog.notification notification
SET state = 'DROPPED', reason = dropped.reason
FROM jsonb_to_recordset(%(dropped)s) AS dropped (notification_id uuid, reason text)
WHERE notification.notification_id = dropped.notification_id AND notification.organisation_id = %(organisation)s
  AND notification.state = 'PENDING'
