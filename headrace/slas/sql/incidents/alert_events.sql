SELECT *
FROM catalog.alert_event
WHERE organisation_id = %(organisation)s AND incident_id = %(incident_id)s
ORDER BY transaction_id, alert_event_id
