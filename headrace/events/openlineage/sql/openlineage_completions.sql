-- Keeps a completion of each run, once; one that was known as history only completes now. What is known of one may have
-- changed: its business date, and its run's id, where it turned out to be that of another job. `historical` null: nothing
-- says so now. Returns those that are new.
WITH item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(completions)s) AS item (
        event_key text, run_id uuid, process_id uuid, run text, at timestamptz, partition_key text, historical boolean
    )
), known AS MATERIALIZED (
    SELECT event_key, historical
    FROM catalog.reported_event
    WHERE organisation_id = %(organisation)s AND event_key = ANY (ARRAY (SELECT event_key FROM item))
), moved AS (
    DELETE FROM catalog.pending_materialization USING item
    WHERE pending_materialization.organisation_id = %(organisation)s
      AND pending_materialization.event_key = item.event_key
      AND (pending_materialization.run_id, pending_materialization.at) IS DISTINCT FROM (item.run_id, item.at)
    RETURNING subject_type, subject_id, pending_materialization.partition_key, pending_materialization.event_key, item.at, item.run_id, version_id
), queued AS (
    INSERT INTO catalog.pending_materialization (
        organisation_id, subject_type, subject_id, partition_key, event_key, at, run_id, version_id
    )
    SELECT %(organisation)s, moved.* FROM moved ORDER BY event_key -- sorted, which waits for all to be gone
    ON CONFLICT (organisation_id, completion_id) DO NOTHING
), stored AS (
    INSERT INTO catalog.reported_event AS stored (
        organisation_id, event_key, run_id, process_id, run, attempt, state, status, ending, at, partition_key, outputs,
        historical
    )
    SELECT %(organisation)s, event_key, run_id, process_id, run, 1, 'SUCCESS', 'COMPLETE', 'GENUINE', at, partition_key, '[]',
           coalesce(item.historical, known.historical)
    FROM item
    LEFT JOIN known USING (event_key)
    WHERE item.historical IS NOT NULL OR known.event_key IS NOT NULL
    ORDER BY at, event_key
    ON CONFLICT (organisation_id, event_key) DO UPDATE SET
        run_id = excluded.run_id,
        at = excluded.at,
        partition_key = excluded.partition_key,
        historical = stored.historical AND excluded.historical,
        sequence = CASE WHEN stored.historical AND NOT excluded.historical THEN excluded.sequence ELSE stored.sequence END
    WHERE (stored.run_id, stored.at, stored.partition_key) IS DISTINCT FROM
          (excluded.run_id, excluded.at, excluded.partition_key)
       OR stored.historical AND NOT excluded.historical
)
SELECT event_key
FROM item
LEFT JOIN known USING (event_key)
WHERE CASE WHEN known.event_key IS NULL THEN item.historical IS NOT NULL ELSE known.historical AND NOT item.historical END
