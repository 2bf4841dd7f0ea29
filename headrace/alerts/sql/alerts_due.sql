-- Alerts to decide on again: their steps start again, their new holder is to be notified, or their acknowledgement expires.
SELECT alert_id FROM catalog.alert
WHERE organisation_id = %(organisation)s AND state <> 'CLOSED'
  AND (next_at <= %(now)s
       OR state = 'ACKNOWLEDGED' AND coalesce(acknowledged_until, acknowledged_at + %(acknowledge_for)s) <= %(now)s)
ORDER BY opened_at, alert_id
LIMIT %(limit)s
