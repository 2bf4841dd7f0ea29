-- The notification that a link belongs to, in whichever organisation it is.
SELECT notification.alert_id, notification.organisation_id, organisation.name AS organisation, notification.destination,
       notification.address, notification.title, notification.body
FROM catalog.notification
JOIN catalog.organisation USING (organisation_id)
WHERE notification_id = %(notification)s AND alert_id IS NOT NULL
