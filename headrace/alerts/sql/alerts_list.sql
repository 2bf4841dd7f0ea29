-- Alerts, newest first, after a position.
SELECT alert.*,
       (SELECT count(*) FROM catalog.notification notification
        WHERE notification.alert_id = alert.alert_id AND notification.state IN ('SENT', 'MERGED')) AS sent,
       (SELECT count(*) FROM catalog.notification notification
        WHERE notification.alert_id = alert.alert_id AND notification.state = 'PENDING') AS pending
FROM catalog.alert
WHERE organisation_id = %(organisation)s
  AND (cardinality(%(states)s::text[]) = 0 OR state = ANY (%(states)s))
  AND (cardinality(%(severities)s::text[]) = 0 OR severity = ANY (%(severities)s))
  AND (%(subject)s::text IS NULL OR subject = %(subject)s OR %(include_affected)s::boolean AND affected ? %(subject)s)
  AND (opened_at, alert_id) < (%(before)s, %(before_id)s)
ORDER BY opened_at DESC, alert_id DESC
LIMIT %(limit)s
