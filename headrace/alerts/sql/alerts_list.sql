-- Alerts, the newest first, those after a place.
SELECT alert.*,
       (SELECT count(*) FROM catalog.alert_message message
        WHERE message.alert_id = alert.alert_id AND message.state IN ('SENT', 'MERGED')) AS told,
       (SELECT count(*) FROM catalog.alert_message message
        WHERE message.alert_id = alert.alert_id AND message.state = 'WAITING') AS waiting
FROM catalog.alert
WHERE organisation_id = %(organisation)s
  AND (cardinality(%(states)s::text[]) = 0 OR state = ANY (%(states)s))
  AND (%(subject)s::text IS NULL OR subject = %(subject)s OR %(hitting)s::boolean AND hit ? %(subject)s)
  AND (opened_at, alert_id) < (%(before)s, %(before_id)s)
ORDER BY opened_at DESC, alert_id DESC
LIMIT %(limit)s
