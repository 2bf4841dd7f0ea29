SELECT arrival_history.subject_id, arrival_history.history, greatest(version.last, success.last) AS last, version.row_count AS last_rows,
       CASE WHEN newest.status = 'RUNNING' THEN extract(epoch FROM newest.start_ts)::double precision END AS running,
       coalesce(newest.status IN ('FAILED', 'TERMINATED', 'LOST', 'BLOCKED'), false) AS failed
FROM catalog.sla_arrival_history arrival_history
LEFT JOIN LATERAL (
    SELECT extract(epoch FROM produced_at)::double precision AS last, row_count
    FROM catalog.dataset_version
    WHERE dataset_id = arrival_history.subject_id AND outcome = 'PUBLISHED' AND produced_at <= %(now)s
    ORDER BY produced_at DESC
    LIMIT 1
) version ON true
LEFT JOIN LATERAL (
    SELECT status, start_ts
    FROM catalog.process_run
    WHERE process_id = arrival_history.subject_id AND status NOT IN ('QUEUED', 'SUPERSEDED') AND start_ts <= %(now)s
      AND start_ts > %(now)s - interval '3 days'
    ORDER BY start_ts DESC
    LIMIT 1
) newest ON true
LEFT JOIN LATERAL (
    SELECT extract(epoch FROM end_ts)::double precision AS last
    FROM catalog.process_run
    WHERE process_id = arrival_history.subject_id AND status = 'SUCCESS' AND end_ts <= %(now)s AND start_ts > %(now)s - interval '3 days'
    ORDER BY start_ts DESC
    LIMIT 1
) success ON true
WHERE arrival_history.subject_id = ANY (%(ids)s)
