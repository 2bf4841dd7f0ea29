SELECT run_id, status AS state, start_ts AS started_at, end_ts AS ended_at, attempt, partitions, parent_run_id, log_location,
       historical, facets_json ->> 'external_run' AS external_run
FROM catalog.process_run run
WHERE process_id = %(process_id)s
  AND (%(state)s::text IS NULL OR status = %(state)s)
  AND (%(before_at)s::timestamptz IS NULL
       OR start_ts < %(before_at)s
       OR (start_ts = %(before_at)s AND run_id > %(before_id)s::uuid))
ORDER BY start_ts DESC, run_id
LIMIT %(limit)s
