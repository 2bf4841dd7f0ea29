-- What became of a try. A message that was dropped while it was on its way has been sent all the same. What a digest
-- that is given up was to tell is given up with it.
WITH ended AS (
    UPDATE catalog.alert_message
    SET state = CASE WHEN %(sent)s THEN 'SENT' WHEN state = 'WAITING' AND %(failed)s THEN 'FAILED' ELSE state END,
        sent_at = CASE WHEN %(sent)s THEN %(now)s ELSE sent_at END,
        reason = %(reason)s
    WHERE organisation_id = %(organisation)s AND message_id = %(message)s
    RETURNING message_id, state
)
UPDATE catalog.alert_message message
SET state = 'FAILED', reason = %(reason)s
FROM ended
WHERE message.organisation_id = %(organisation)s AND message.digest_id = ended.message_id AND ended.state = 'FAILED'
