-- Sending is about to begin: whatever happens now, the message is tried again later unless its end is written down.
UPDATE catalog.alert_message message
SET tries = message.tries + 1, next_try_at = begun.next_try_at, title = begun.title, body = begun.body
FROM jsonb_to_recordset(%(begun)s) AS begun (message_id uuid, next_try_at timestamptz, title text, body text)
WHERE message.message_id = begun.message_id AND message.organisation_id = %(organisation)s
