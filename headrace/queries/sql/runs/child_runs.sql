-- The runs within a run: their parent is this run of their box.
SELECT child.run_id, process.process_key, child.status AS state, child.start_ts AS started_at, child.end_ts AS ended_at,
       child.attempt
FROM catalog.process_run parent
JOIN catalog.process_run child
    ON child.parent_process_id = parent.process_id
    AND child.parent_run_id = parent.run_id
    AND child.start_ts >= parent.start_ts - interval '1 day'
JOIN catalog.process ON process.process_id = child.process_id
WHERE parent.run_id = %(run_id)s
ORDER BY child.start_ts, process.process_key
LIMIT %(limit)s
