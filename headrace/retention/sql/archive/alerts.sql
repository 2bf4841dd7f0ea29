-- Deletes alerts that closed before `before`, at most so many, with their notifications and the events of their
-- incidents.
WITH gone AS MATERIALIZED (
    SELECT alert_id, incident_id
    FROM catalog.alert
    WHERE organisation_id = %(organisation)s AND state = 'CLOSED' AND closed_at < %(before)s
    ORDER BY closed_at
    LIMIT %(most)s
    FOR UPDATE SKIP LOCKED
), messages AS (
    DELETE FROM catalog.notification WHERE alert_id IN (SELECT alert_id FROM gone)
), alert_events AS (
    DELETE FROM catalog.alert_event WHERE incident_id IN (SELECT incident_id FROM gone)
)
DELETE FROM catalog.alert WHERE alert_id IN (SELECT alert_id FROM gone)
