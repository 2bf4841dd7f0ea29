-- The alerts that messages, or the messages which a digest tells, are about.
SELECT DISTINCT alert.*
FROM catalog.alert_message message
JOIN catalog.alert USING (alert_id)
WHERE message.organisation_id = %(organisation)s
  AND (message.message_id = ANY (%(messages)s) OR message.digest_id = ANY (%(messages)s))
