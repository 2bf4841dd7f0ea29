-- Messages that a digest tells.
UPDATE catalog.alert_message message
SET state = 'MERGED', digest_id = merged.digest_id, reason = 'told in one with others'
FROM jsonb_to_recordset(%(merged)s) AS merged (message_id uuid, digest_id uuid)
WHERE message.message_id = merged.message_id AND message.organisation_id = %(organisation)s
