-- Deletes incidents that closed before `before` and have no members any more.
DELETE FROM catalog.incident
WHERE incident_id IN (
    SELECT incident_id
    FROM catalog.incident closed
    WHERE organisation_id = %(organisation)s
      AND closed_at < %(before)s
      AND NOT EXISTS (SELECT FROM catalog.alert WHERE alert.incident_id = closed.incident_id)
      AND NOT EXISTS (SELECT FROM catalog.alert_event WHERE alert_event.incident_id = closed.incident_id)
      AND NOT EXISTS (SELECT FROM catalog.sla_objective WHERE sla_objective.incident_id = closed.incident_id)
      AND NOT EXISTS (SELECT FROM catalog.heartbeat WHERE heartbeat.incident_id = closed.incident_id)
    LIMIT %(most)s
)
