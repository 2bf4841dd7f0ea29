-- Processes whose newest run has failed since a moment, without an alert event for it, and with objectives on or
-- downstream of them.
WITH RECURSIVE failed AS MATERIALIZED (
    SELECT run.run_id, run.process_id, run.status, coalesce(run.end_ts, run.start_ts) AS at, run.log_location, run.attempt
    FROM catalog.process_run run
    WHERE run.organisation_id = %(organisation)s
      AND run.status IN ('FAILED', 'TERMINATED', 'LOST', 'BLOCKED')
      AND run.end_ts > %(since)s
      AND run.end_ts <= %(now)s
      AND NOT run.historical
      AND NOT EXISTS (
          SELECT FROM catalog.process_run newer
          WHERE newer.process_id = run.process_id
            AND newer.start_ts > run.start_ts
            AND newer.status NOT IN ('QUEUED', 'HELD', 'SUPERSEDED')
      )
      AND NOT EXISTS (
          SELECT FROM catalog.alert_event event
          WHERE event.process_id = run.process_id AND event.kind = 'RUN_FAILED' AND event.facts ->> 'run_id' = run.run_id::text
      )
), below (process_id, node, depth) AS (
    SELECT process_id, process_id, 0 FROM failed
    UNION
    SELECT below.process_id, edge.target_id, below.depth + 1
    FROM below
    CROSS JOIN LATERAL (
        SELECT target_id
        FROM catalog.lineage_edge
        WHERE source_id = below.node AND valid_to IS NULL AND edge_role IN ('CONSUMES', 'PRODUCES', 'DERIVES')
        UNION ALL
        SELECT dependency.process_id
        FROM catalog.process upstream
        JOIN catalog.process_dependency dependency
            ON dependency.organisation_id = upstream.organisation_id
           AND dependency.upstream_technology = upstream.technology
           AND dependency.upstream_instance = upstream.instance
           AND dependency.upstream_name = upstream.external_name
        WHERE upstream.process_id = below.node AND dependency.valid_to IS NULL AND dependency.orders
    ) edge
    WHERE below.depth < 30
), covered AS (
    SELECT DISTINCT below.process_id
    FROM below
    JOIN catalog.sla_objective objective ON objective.dataset_id = below.node OR objective.process_id = below.node
)
SELECT 'PROCESS' AS subject_type, process.process_key AS subject, process.process_id AS subject_id, process.owners,
       failed.run_id, failed.status, failed.at, attempt.reason, attempt.dagster_run_id,
       coalesce(attempt.log_location, failed.log_location) AS log_location, (
           SELECT max(run.start_ts) FROM catalog.process_run run
           WHERE run.process_id = failed.process_id AND run.status = 'SUCCESS'
       ) AS last_arrival_at
FROM failed
JOIN covered USING (process_id)
JOIN catalog.process USING (process_id)
LEFT JOIN catalog.run_attempt attempt ON attempt.run_id = failed.run_id AND attempt.attempt = failed.attempt
ORDER BY failed.at, failed.run_id
