-- The alerts of notifications, or of the notifications in a digest.
SELECT DISTINCT alert.*
FROM catalog.notification notification
JOIN catalog.alert USING (alert_id)
WHERE notification.organisation_id = %(organisation)s
  AND (notification.notification_id = ANY (%(notifications)s) OR notification.digest_id = ANY (%(notifications)s))
