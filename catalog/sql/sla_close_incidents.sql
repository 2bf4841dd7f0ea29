-- An incident ends when no promise belongs to it, the sensor ticks again, the process that failed has run since, and what
-- its check stopped has been published.
WITH closed AS (
    UPDATE catalog.incident
    SET closed_at = greatest(%(now)s, opened_at)
    WHERE organisation_id = %(organisation)s
      AND closed_at IS NULL
      AND NOT EXISTS (SELECT FROM catalog.sla_promise promise WHERE promise.incident_id = incident.incident_id)
      AND NOT EXISTS (SELECT FROM catalog.heartbeat beat WHERE beat.incident_id = incident.incident_id)
      AND NOT EXISTS (
          SELECT FROM (
              SELECT run.status
              FROM catalog.process_run run
              WHERE run.process_id = incident.process_id
                AND run.status NOT IN ('QUEUED', 'RUNNING', 'HELD', 'SUPERSEDED')
              ORDER BY run.start_ts DESC
              LIMIT 1
          ) newest
          WHERE incident.run_id IS NOT NULL AND newest.status NOT IN ('SUCCESS', 'SKIPPED')
      )
      AND NOT EXISTS (
          SELECT FROM (
              SELECT version.outcome
              FROM catalog.dataset_version version
              WHERE version.dataset_id = incident.dataset_id AND version.outcome <> 'SUPERSEDED'
              ORDER BY version.produced_at DESC, version.dataset_version_id
              LIMIT 1
          ) newest
          WHERE newest.outcome = 'BLOCKED'
      )
    RETURNING *
)
SELECT closed.*, coalesce(dataset.owners, process.owners) AS owners,
       ARRAY (
           SELECT DISTINCT happening.subject FROM catalog.happening
           WHERE happening.incident_id = closed.incident_id
           ORDER BY 1
       ) AS members
FROM closed
LEFT JOIN catalog.dataset USING (dataset_id)
LEFT JOIN catalog.process ON process.process_id = closed.process_id
