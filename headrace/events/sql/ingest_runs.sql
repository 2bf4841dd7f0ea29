-- The runs as they now are. A run's start is part of its key, so that one whose start has changed is another row.
WITH item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(runs)s) AS item (
        run_id uuid, process_id uuid, run text, state text, attempt int, start_ts timestamptz, end_ts timestamptz,
        partitions text[], log_location text, parent_process_id uuid, historical boolean
    )
), moved AS (
    DELETE FROM catalog.process_run stored
    USING item
    WHERE stored.run_id = item.run_id AND stored.run_id = ANY (%(known)s) AND stored.start_ts <> item.start_ts
)
INSERT INTO catalog.process_run AS stored (
    run_id, start_ts, organisation_id, process_id, status, end_ts, attempt, partitions, log_location, facets_json,
    historical, parent_process_id
)
SELECT run_id, start_ts, %(organisation)s, process_id, state, end_ts, attempt, partitions, log_location,
       jsonb_build_object('external_run', run), historical, parent_process_id
FROM item
ON CONFLICT (run_id, start_ts) DO UPDATE SET
    status = excluded.status,
    end_ts = excluded.end_ts,
    attempt = excluded.attempt,
    partitions = excluded.partitions,
    log_location = excluded.log_location,
    facets_json = excluded.facets_json,
    historical = excluded.historical,
    parent_process_id = excluded.parent_process_id
