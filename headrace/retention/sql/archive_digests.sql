-- Deletes messages that told of others in one, none of which is there any more.
DELETE FROM catalog.alert_message
WHERE message_id IN (
    SELECT message_id
    FROM catalog.alert_message digest
    WHERE organisation_id = %(organisation)s
      AND purpose = 'DIGEST'
      AND decided_at < %(before)s
      AND NOT EXISTS (SELECT FROM catalog.alert_message member WHERE member.digest_id = digest.message_id)
    LIMIT %(most)s
)
