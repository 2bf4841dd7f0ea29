-- An incident closes when no objective belongs to it, the sensor ticks again, the processes that failed in it have run
-- since, and versions blocked in it have been published, unless they are retired. failed: incidents with a run that has just failed.
WITH quiet AS MATERIALIZED (
    SELECT incident_id
    FROM catalog.incident
    WHERE organisation_id = %(organisation)s
      AND closed_at IS NULL
      AND incident_id <> ALL (%(failed)s)
      AND NOT EXISTS (SELECT FROM catalog.sla_objective objective WHERE objective.incident_id = incident.incident_id)
      AND NOT EXISTS (SELECT FROM catalog.heartbeat beat WHERE beat.incident_id = incident.incident_id)
), made AS MATERIALIZED (
    SELECT incident_id, incident_id AS part_id FROM quiet
    UNION ALL
    SELECT quiet.incident_id, part.incident_id FROM quiet JOIN catalog.incident part ON part.part_of = quiet.incident_id
), event AS MATERIALIZED (
    SELECT DISTINCT made.incident_id, alert_event.subject, alert_event.kind, alert_event.process_id, alert_event.dataset_id
    FROM made
    JOIN catalog.alert_event ON alert_event.incident_id = made.part_id
    WHERE alert_event.severity <> 'INFO'
), wrong AS MATERIALIZED (
    SELECT event.incident_id
    FROM event
    JOIN catalog.process ON process.process_id = event.process_id AND process.lifecycle <> 'RETIRED'
    CROSS JOIN LATERAL (
        SELECT status
        FROM catalog.process_run run
        WHERE run.process_id = event.process_id AND run.status NOT IN ('QUEUED', 'RUNNING', 'HELD', 'SUPERSEDED')
        ORDER BY run.start_ts DESC
        LIMIT 1
    ) newest
    WHERE event.kind = 'RUN_FAILED' AND newest.status NOT IN ('SUCCESS', 'SKIPPED')
    UNION ALL
    SELECT event.incident_id
    FROM event
    JOIN catalog.dataset ON dataset.dataset_id = event.dataset_id AND dataset.status <> 'RETIRED'
    CROSS JOIN LATERAL (
        SELECT outcome
        FROM catalog.dataset_version version
        WHERE version.dataset_id = event.dataset_id AND version.outcome <> 'SUPERSEDED'
        ORDER BY version.produced_at DESC, version.dataset_version_id
        LIMIT 1
    ) newest
    WHERE event.kind = 'CHECK_FAILED' AND newest.outcome = 'BLOCKED'
), closed AS (
    UPDATE catalog.incident
    SET closed_at = greatest(%(now)s, opened_at)
    FROM quiet
    WHERE incident.incident_id = quiet.incident_id
      AND NOT EXISTS (SELECT FROM wrong WHERE wrong.incident_id = quiet.incident_id)
    RETURNING incident.*
)
SELECT closed.*, coalesce(dataset.owners, process.owners) AS owners, hit.members,
       coalesce(dataset.status = 'RETIRED', process.lifecycle = 'RETIRED', false) AS retired
FROM closed
LEFT JOIN (SELECT incident_id, array_agg(DISTINCT subject) AS members FROM event GROUP BY incident_id) hit USING (incident_id)
LEFT JOIN catalog.dataset USING (dataset_id)
LEFT JOIN catalog.process ON process.process_id = closed.process_id
