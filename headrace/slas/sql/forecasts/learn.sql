-- Histories of up to 200 arrivals, for subjects without one or with an old one.
WITH stale AS MATERIALIZED (
    SELECT wanted.id AS subject_id
    FROM unnest(%(ids)s::uuid[]) AS wanted (id)
    LEFT JOIN catalog.sla_arrival_history arrival_history ON arrival_history.subject_id = wanted.id
    WHERE arrival_history.learned_at IS NULL OR arrival_history.learned_at < %(before)s
    ORDER BY arrival_history.learned_at NULLS FIRST
    LIMIT %(limit)s
)
SELECT stale.subject_id, array_agg(extract(epoch FROM at)::double precision ORDER BY at) FILTER (WHERE at IS NOT NULL) AS arrived,
       array_agg(took ORDER BY at) FILTER (WHERE at IS NOT NULL) AS took,
       array_agg(counted ORDER BY at) FILTER (WHERE at IS NOT NULL) AS counts
FROM stale
LEFT JOIN LATERAL (
    (
        SELECT produced_at AS at, NULL::double precision AS took, row_count::double precision AS counted
        FROM catalog.dataset_version
        WHERE dataset_id = stale.subject_id AND outcome = 'PUBLISHED' AND produced_at <= %(now)s
        ORDER BY produced_at DESC
        LIMIT 200
    )
    UNION ALL
    (
        SELECT end_ts, extract(epoch FROM end_ts - start_ts)::double precision, NULL
        FROM catalog.process_run
        WHERE process_id = stale.subject_id AND status = 'SUCCESS' AND end_ts <= %(now)s
        ORDER BY start_ts DESC
        LIMIT 200
    )
) past ON true
GROUP BY stale.subject_id
