-- Deletes digests whose notifications are all deleted.
DELETE FROM catalog.notification
WHERE notification_id IN (
    SELECT notification_id
    FROM catalog.notification digest
    WHERE organisation_id = %(organisation)s
      AND purpose = 'DIGEST'
      AND decided_at < %(before)s
      AND NOT EXISTS (SELECT FROM catalog.notification member WHERE member.digest_id = digest.notification_id)
    LIMIT %(most)s
)
