-- Messages that nobody needs any more.
UPDATE catalog.alert_message message
SET state = 'DROPPED', reason = dropped.reason
FROM jsonb_to_recordset(%(dropped)s) AS dropped (message_id uuid, reason text)
WHERE message.message_id = dropped.message_id AND message.organisation_id = %(organisation)s
  AND message.state = 'WAITING'
