-- The parent of a run is the run of its box that was the last to start before it, if that had not ended. Updated: the
-- given runs, and for boxes, all runs that started between theirs and the box's next run. `bounds` has each run with
-- `since` its current start, and again with its former start.
WITH bound AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(bounds)s) AS item (run_id uuid, process_id uuid, since timestamptz, start_ts timestamptz)
), child AS MATERIALIZED (
    SELECT run.run_id, run.start_ts, run.parent_process_id
    FROM bound
    JOIN catalog.process_run run ON run.run_id = bound.run_id AND run.start_ts = bound.start_ts
    WHERE run.parent_process_id IS NOT NULL
    UNION
    SELECT run.run_id, run.start_ts, run.parent_process_id
    FROM bound
    LEFT JOIN LATERAL (
        SELECT start_ts FROM catalog.process_run later
        WHERE later.process_id = bound.process_id AND later.start_ts > bound.since
        ORDER BY start_ts
        LIMIT 1
    ) next ON true
    JOIN catalog.process_run run ON run.parent_process_id = bound.process_id
        AND run.start_ts >= bound.since
        AND (next.start_ts IS NULL OR run.start_ts < next.start_ts)
)
UPDATE catalog.process_run run
SET parent_run_id = found.parent_run_id
FROM (
    SELECT child.run_id, child.start_ts, CASE WHEN box.end_ts IS NULL OR box.end_ts >= child.start_ts THEN box.run_id END
           AS parent_run_id
    FROM child
    LEFT JOIN LATERAL (
        SELECT run_id, end_ts FROM catalog.process_run box
        WHERE box.process_id = child.parent_process_id AND box.start_ts <= child.start_ts
        ORDER BY box.start_ts DESC, box.run_id
        LIMIT 1
    ) box ON true
) found
WHERE run.run_id = found.run_id
  AND run.start_ts = found.start_ts
  AND run.parent_run_id IS DISTINCT FROM found.parent_run_id
