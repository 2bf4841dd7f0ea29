SELECT process_id, process_key AS key, technology, instance, external_name, lifecycle, owners, description,
       run.run_id AS last_run_id, run.status AS last_run_state, run.start_ts AS last_run_at
FROM (
    SELECT *
    FROM catalog.process
    WHERE organisation_id = %(organisation)s
      AND process_key > %(after)s
      AND (%(technology)s::text IS NULL OR technology = %(technology)s)
      AND (%(lifecycle)s::text IS NULL OR lifecycle = %(lifecycle)s)
      AND concat_ws(' ', process_key, description, array_to_string(owners, ' ')) ILIKE ALL (%(words)s::text[])
    ORDER BY process_key
    LIMIT %(limit)s
) process
LEFT JOIN LATERAL (
    SELECT run_id, status, start_ts
    FROM catalog.process_run
    WHERE process_run.process_id = process.process_id
    ORDER BY start_ts DESC
    LIMIT 1
) run ON true
ORDER BY process_key
