-- Mark alert events as processed.
UPDATE catalog.alert_event SET processed_at = %(now)s
WHERE organisation_id = %(organisation)s AND alert_event_id = ANY (%(alert_events)s)
