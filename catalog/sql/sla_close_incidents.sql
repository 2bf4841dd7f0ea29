-- An incident ends when no promise belongs to it, the sensor ticks again, the processes that failed in it have run since, and
-- what a check stopped in it has been published. failed: those in which a run has failed just now.
WITH made AS MATERIALIZED (
    SELECT incident_id, incident_id AS of_id FROM catalog.incident WHERE organisation_id = %(organisation)s AND closed_at IS NULL
    UNION ALL
    SELECT whole.incident_id, part.incident_id
    FROM catalog.incident whole
    JOIN catalog.incident part ON part.part_of = whole.incident_id
    WHERE whole.organisation_id = %(organisation)s AND whole.closed_at IS NULL
), closed AS (
    UPDATE catalog.incident
    SET closed_at = greatest(%(now)s, opened_at)
    WHERE organisation_id = %(organisation)s
      AND closed_at IS NULL
      AND incident_id <> ALL (%(failed)s)
      AND NOT EXISTS (SELECT FROM catalog.sla_promise promise WHERE promise.incident_id = incident.incident_id)
      AND NOT EXISTS (SELECT FROM catalog.heartbeat beat WHERE beat.incident_id = incident.incident_id)
      AND NOT EXISTS (
          SELECT
          FROM made
          JOIN catalog.happening told ON told.incident_id = made.of_id
          CROSS JOIN LATERAL (
              (
                  SELECT run.status NOT IN ('SUCCESS', 'SKIPPED') AS failed
                  FROM catalog.process_run run
                  WHERE told.kind = 'RUN_FAILED'
                    AND run.process_id = told.process_id
                    AND run.status NOT IN ('QUEUED', 'RUNNING', 'HELD', 'SUPERSEDED')
                  ORDER BY run.start_ts DESC
                  LIMIT 1
              )
              UNION ALL
              (
                  SELECT version.outcome = 'BLOCKED'
                  FROM catalog.dataset_version version
                  WHERE told.kind = 'CHECK_FAILED'
                    AND version.dataset_id = told.dataset_id
                    AND version.outcome <> 'SUPERSEDED'
                  ORDER BY version.produced_at DESC, version.dataset_version_id
                  LIMIT 1
              )
          ) newest
          WHERE made.incident_id = incident.incident_id
            AND told.kind IN ('RUN_FAILED', 'CHECK_FAILED')
            AND newest.failed
      )
    RETURNING *
)
SELECT closed.*, coalesce(dataset.owners, process.owners) AS owners,
       ARRAY (
           SELECT DISTINCT happening.subject
           FROM made
           JOIN catalog.happening ON happening.incident_id = made.of_id
           WHERE made.incident_id = closed.incident_id AND happening.severity <> 'INFO'
       ) AS members
FROM closed
LEFT JOIN catalog.dataset USING (dataset_id)
LEFT JOIN catalog.process ON process.process_id = closed.process_id
