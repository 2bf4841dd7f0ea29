-- Inserts or replaces runs. The start is part of the key, so the row of a run whose start has changed is deleted first.
-- A run with the same id in another organisation is left unchanged. archived_day: the day of the roll-up that counts
-- the run, if it is archived. `parent_run_id` is null for scheduler runs: their parent, which write_box_parents.sql finds,
-- is kept while they stay in the same box.
WITH item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(runs)s) AS item (
        run_id uuid, process_id uuid, state text, attempt int, start_ts timestamptz, end_ts timestamptz,
        partitions text[], log_location text, facets jsonb, parent_run_id uuid, parent_process_id uuid, historical boolean
    )
), moved AS (
    DELETE FROM catalog.process_run stored
    USING item
    WHERE stored.run_id = item.run_id
      AND stored.run_id = ANY (%(known)s::uuid[])
      AND stored.organisation_id = %(organisation)s
      AND stored.start_ts <> item.start_ts
)
INSERT INTO catalog.process_run AS stored (
    run_id, start_ts, organisation_id, process_id, status, end_ts, attempt, partitions, log_location, facets_json,
    historical, parent_run_id, parent_process_id, archived_day
)
SELECT run_id, start_ts, %(organisation)s, process_id, state, end_ts, attempt, partitions, log_location, facets, historical,
       parent_run_id, parent_process_id, (
           SELECT max(archived.day)
           FROM catalog.run_day archived
           WHERE archived.organisation_id = %(organisation)s AND archived.run_ids @> ARRAY[item.run_id]
       )
FROM item
ON CONFLICT (run_id, start_ts) DO UPDATE SET
    process_id = excluded.process_id,
    status = excluded.status,
    end_ts = excluded.end_ts,
    attempt = excluded.attempt,
    partitions = excluded.partitions,
    log_location = excluded.log_location,
    facets_json = excluded.facets_json,
    historical = excluded.historical,
    parent_run_id = CASE
        WHEN excluded.parent_run_id IS NULL AND excluded.parent_process_id = stored.parent_process_id
            THEN stored.parent_run_id
        ELSE excluded.parent_run_id
    END,
    parent_process_id = excluded.parent_process_id
WHERE stored.organisation_id = excluded.organisation_id
