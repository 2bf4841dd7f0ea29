-- The alerts that notifications, or the notifications which a digest tells, are about.
SELECT DISTINCT alert.*
FROM catalog.notification notification
JOIN catalog.alert USING (alert_id)
WHERE notification.organisation_id = %(organisation)s
  AND (notification.notification_id = ANY (%(notifications)s) OR notification.digest_id = ANY (%(notifications)s))
