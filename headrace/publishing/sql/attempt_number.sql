SELECT process_id, start_ts, coalesce(attempt, 0) + 1 AS attempt, (
    SELECT count(*) FROM catalog.run_attempt WHERE run_id = %(run_id)s AND state = 'SUCCESS'
) AS completed
FROM catalog.process
LEFT JOIN LATERAL (
    SELECT start_ts, attempt FROM catalog.process_run WHERE run_id = %(run_id)s
) run ON true
WHERE organisation_id = %(organisation)s AND process_key = %(process_key)s
