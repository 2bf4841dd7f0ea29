-- The runs as they now are, with their one attempt and the datasets that they used. A run's start is part of its key, so
-- that one whose start has changed is another row. A run of this id that another organisation has is left as it is.
WITH item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(runs)s) AS item (
        run_id uuid, process_id uuid, state text, start_ts timestamptz, end_ts timestamptz, reason text,
        parent_run_id uuid, parent_process_id uuid, facets jsonb, historical boolean
    )
), moved AS (
    DELETE FROM catalog.process_run stored
    USING item
    WHERE stored.run_id = item.run_id
      AND stored.run_id = ANY (%(known)s::uuid[])
      AND stored.organisation_id = %(organisation)s
      AND stored.start_ts <> item.start_ts
), used AS (
    INSERT INTO catalog.run_dataset (organisation_id, run_id, name_id, role, version, partition_key, facets, at)
    SELECT %(organisation)s, run_id, name_id, role, version, partition_key, facets, at
    FROM jsonb_to_recordset(%(uses)s) AS used (
        run_id uuid, name_id uuid, role text, version text, partition_key text, facets jsonb, at timestamptz
    )
    ON CONFLICT (organisation_id, run_id, name_id, role) DO UPDATE SET
        version = excluded.version,
        partition_key = excluded.partition_key,
        facets = excluded.facets,
        at = excluded.at
), attempt AS (
    INSERT INTO catalog.run_attempt AS stored (
        run_id, attempt, organisation_id, run_start_ts, state, ending, start_ts, end_ts, reason
    )
    SELECT run_id, 1, %(organisation)s, start_ts, state, CASE WHEN end_ts IS NOT NULL THEN 'GENUINE' END, start_ts, end_ts,
           reason
    FROM item
    ON CONFLICT (run_id, attempt) DO UPDATE SET
        run_start_ts = excluded.run_start_ts,
        state = excluded.state,
        ending = excluded.ending,
        start_ts = excluded.start_ts,
        end_ts = excluded.end_ts,
        reason = excluded.reason
    WHERE stored.organisation_id = excluded.organisation_id
)
INSERT INTO catalog.process_run AS stored (
    run_id, start_ts, organisation_id, process_id, status, end_ts, attempt, partitions, facets_json, parent_run_id,
    parent_process_id, historical
)
SELECT run_id, start_ts, %(organisation)s, process_id, state, end_ts, 1, '{}', facets, parent_run_id, parent_process_id,
       historical
FROM item
ON CONFLICT (run_id, start_ts) DO UPDATE SET
    process_id = excluded.process_id,
    status = excluded.status,
    end_ts = excluded.end_ts,
    facets_json = excluded.facets_json,
    parent_run_id = excluded.parent_run_id,
    parent_process_id = excluded.parent_process_id,
    historical = excluded.historical
WHERE stored.organisation_id = excluded.organisation_id
