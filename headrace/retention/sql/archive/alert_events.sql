-- Deletes alert events without an alert.
DELETE FROM catalog.alert_event
WHERE alert_event_id IN (
    SELECT alert_event_id
    FROM catalog.alert_event
    WHERE organisation_id = %(organisation)s
      AND processed_at < %(before)s
      AND NOT EXISTS (SELECT FROM catalog.alert WHERE alert.alert_id = alert_event.incident_id)
    LIMIT %(most)s
)
