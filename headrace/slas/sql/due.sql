-- Objectives to evaluate: they are due, have new arrivals, or their process is paused. Each with its new arrivals,
-- earliest first.
WITH held AS MATERIALIZED (
    SELECT run.process_id, run.start_ts AS since, newer.until, run.status
    FROM catalog.process_run run
    JOIN catalog.process USING (process_id)
    CROSS JOIN LATERAL (
        SELECT min(start_ts) AS until
        FROM catalog.process_run newer
        WHERE newer.process_id = run.process_id AND newer.start_ts > run.start_ts
    ) newer
    WHERE process.organisation_id = %(organisation)s
      AND run.status IN ('HELD', 'SKIPPED')
      AND run.start_ts > %(now)s - interval '60 days'
      AND NOT run.historical
      AND (newer.until IS NULL OR newer.until > %(now)s - interval '7 days')
), kept AS MATERIALIZED (
    SELECT process_id AS subject_id, since, until, status FROM held
    UNION
    -- A dataset whose producing process is paused.
    SELECT edge.target_id, held.since, held.until, held.status
    FROM held
    JOIN catalog.lineage_edge edge
        ON edge.source_id = held.process_id AND edge.edge_role = 'PRODUCES' AND edge.valid_to IS NULL
), due AS MATERIALIZED (
    SELECT *
    FROM catalog.sla_objective objective
    WHERE organisation_id = %(organisation)s
      AND next_at < 'infinity'
      AND (
          next_at <= %(now)s
          OR state = 'PAUSED'
          OR (%(all_deadlines)s AND kind IN ('DELIVERY', 'START'))
          OR (kind <> 'VOLUME'
              AND coalesce(dataset_id, process_id) IN (SELECT subject_id FROM kept WHERE until IS NULL))
          OR (met_at IS NULL AND dataset_id IS NOT NULL AND EXISTS (
              SELECT FROM catalog.dataset_version version
              WHERE version.dataset_id = objective.dataset_id
                AND version.produced_at > coalesce(objective.newest_at, '-infinity')
                AND version.produced_at <= %(now)s
                AND version.outcome = 'PUBLISHED'
                AND (objective.partition_key = '' OR version.partition_key = objective.partition_key)
          ))
          OR (met_at IS NULL AND process_id IS NOT NULL AND EXISTS (
              SELECT FROM catalog.process_run run
              WHERE run.process_id = objective.process_id
                AND run.start_ts > coalesce(objective.newest_at, objective.opens_at, %(now)s) - interval '7 days'
                AND CASE objective.kind
                    WHEN 'DELIVERY' THEN
                        run.status = 'SUCCESS' AND run.end_ts > coalesce(objective.newest_at, '-infinity') AND run.end_ts <= %(now)s
                    WHEN 'START' THEN
                        run.status NOT IN ('QUEUED', 'HELD', 'SKIPPED')
                        AND run.start_ts > coalesce(objective.newest_at, '-infinity') AND run.start_ts <= %(now)s
                    ELSE
                        NOT run.historical AND run.status NOT IN ('QUEUED', 'HELD', 'SKIPPED') AND run.start_ts <= %(now)s
                        AND (run.start_ts > coalesce(objective.newest_at, '-infinity')
                             OR (run.run_id = objective.run_id AND run.end_ts <= %(now)s))
                    END
          ))
      )
)
SELECT due.objective_id, due.kind, due.ordinal, due.dataset_id, due.process_id, due.definition::text, due.state, due.since,
       due.reason, due.evaluated_at, due.next_at, due.settled, due.opens_at, due.deadline, due.partition_key, due.met_at,
       due.newest_at, due.run_id, due.miss_probability, due.expected_at, due.expected_from, due.expected_to, due.waits_for,
       due.waits_for_id, due.waits_minutes, due.incident_id, coalesce(dataset.full_name, process.process_key) AS key,
       coalesce(dataset.owners, process.owners) AS owners, kept.pauses, arrived.arrivals
FROM due
LEFT JOIN catalog.dataset USING (dataset_id)
LEFT JOIN catalog.process ON process.process_id = due.process_id
LEFT JOIN (
    SELECT subject_id, json_agg(json_build_array(since, until, status) ORDER BY since)::text AS pauses
    FROM kept
    WHERE since <= %(now)s
    GROUP BY subject_id
) kept ON kept.subject_id = coalesce(due.dataset_id, due.process_id)
LEFT JOIN LATERAL (
    SELECT json_agg(json_build_array(at, partition_key, run_id, ended_at, rows, bytes) ORDER BY at)::text AS arrivals
    FROM (
        SELECT version.produced_at AS at, version.partition_key, version.produced_by_run_id AS run_id,
               NULL::timestamptz AS ended_at, version.row_count AS rows, version.byte_size AS bytes
        FROM catalog.dataset_version version
        WHERE version.dataset_id = due.dataset_id
          AND version.outcome = 'PUBLISHED'
          AND version.produced_at <= %(now)s
          AND version.produced_at >= (
              SELECT CASE WHEN due.partition_key <> '' OR due.definition ? 'partition' THEN
                         coalesce(due.opens_at, %(now)s) - interval '35 days'
                     ELSE coalesce(due.newest_at, (
                         SELECT max(earlier.produced_at)
                         FROM catalog.dataset_version earlier
                         WHERE earlier.dataset_id = due.dataset_id
                           AND earlier.outcome = 'PUBLISHED'
                           AND earlier.produced_at < coalesce(due.opens_at, 'infinity')
                           AND earlier.produced_at <= %(now)s
                     ), '-infinity') END)
        UNION ALL
        SELECT CASE due.kind WHEN 'DELIVERY' THEN run.end_ts ELSE run.start_ts END, '', run.run_id, run.end_ts, NULL, NULL
        FROM catalog.process_run run
        WHERE due.process_id IS NOT NULL
          AND run.process_id = due.process_id
          AND run.start_ts > coalesce(due.newest_at, due.opens_at, %(now)s) - interval '7 days'
          AND run.start_ts <= %(now)s
          AND CASE due.kind
              WHEN 'DELIVERY' THEN run.status = 'SUCCESS' AND run.end_ts <= %(now)s
              WHEN 'START' THEN run.status NOT IN ('QUEUED', 'HELD', 'SKIPPED')
              ELSE NOT run.historical AND run.status NOT IN ('QUEUED', 'HELD', 'SKIPPED')
                   AND (run.run_id = due.run_id
                        OR run.start_ts > coalesce(due.newest_at, due.evaluated_at - interval '1 day')) END
        ORDER BY at
        LIMIT 5000
    ) arrived
) arrived ON due.met_at IS NULL OR due.deadline <= %(now)s
