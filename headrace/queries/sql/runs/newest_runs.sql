SELECT process_id, run.run_id, run.state, run.started_at, run.ended_at
FROM unnest(%(process_ids)s::uuid[]) AS wanted (process_id)
CROSS JOIN LATERAL (
    SELECT run_id, status AS state, start_ts AS started_at, end_ts AS ended_at
    FROM catalog.process_run
    WHERE process_run.process_id = wanted.process_id
    ORDER BY start_ts DESC
    LIMIT 1
) run
