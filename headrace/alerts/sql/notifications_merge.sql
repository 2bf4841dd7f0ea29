-- Mark notifications as part of a digest.
UPDATE catalog.notification notification
SET state = 'MERGED', digest_id = merged.digest_id, reason = 'sent in one with others'
FROM jsonb_to_recordset(%(merged)s) AS merged (notification_id uuid, digest_id uuid)
WHERE notification.notification_id = merged.notification_id AND notification.organisation_id = %(organisation)s
