-- Messages that have to wait for what their destination may get.
UPDATE catalog.alert_message message
SET next_try_at = waiting.until
FROM jsonb_to_recordset(%(waiting)s) AS waiting (message_id uuid, until timestamptz)
WHERE message.message_id = waiting.message_id AND message.organisation_id = %(organisation)s
