-- When datasets were published, and processes succeeded: the last five times, newest first.
SELECT dataset_id AS subject_id, ARRAY (
           SELECT produced_at
           FROM catalog.dataset_version version
           WHERE version.dataset_id = dataset.dataset_id AND outcome = 'PUBLISHED' AND produced_at <= %(now)s
           ORDER BY produced_at DESC, dataset_version_id
           LIMIT 5
       ) AS at, NULL::timestamptz[] AS began
FROM catalog.dataset
WHERE dataset_id = ANY (%(ids)s)
UNION ALL
SELECT process_id, ran.at, ran.began
FROM catalog.process
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(end_ts ORDER BY start_ts DESC), '{}') AS at,
           coalesce(array_agg(start_ts ORDER BY start_ts DESC), '{}') AS began
    FROM (
        SELECT start_ts, end_ts
        FROM catalog.process_run run
        WHERE run.process_id = process.process_id AND status = 'SUCCESS' AND end_ts <= %(now)s
        ORDER BY start_ts DESC
        LIMIT 5
    ) succeeded
) ran
WHERE process_id = ANY (%(ids)s)
