-- Alerts to decide on again: their steps start again, their new holder is to be notified, their acknowledgement expires,
-- or someone has resolved them.
SELECT alert_id FROM catalog.alert
WHERE organisation_id = %(organisation)s AND (state <> 'CLOSED' OR next_at IS NOT NULL)
  AND (next_at <= %(now)s
       OR state = 'ACKNOWLEDGED' AND coalesce(acknowledged_until, acknowledged_at + %(acknowledge_for)s) <= %(now)s)
ORDER BY opened_at, alert_id
LIMIT %(limit)s
