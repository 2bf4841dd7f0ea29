-- Runs to archive now, at most so many, locked until the transaction ends. Runs locked by others are skipped.
INSERT INTO pg_temp.chosen_run (run_id, start_ts)
SELECT run.run_id, run.start_ts
FROM catalog.process_run run
WHERE (run.run_id, run.start_ts) IN (
    SELECT run_id, start_ts
    FROM catalog.archivable_runs(%(organisation)s, %(before)s, %(first)s, %(last)s)
    ORDER BY start_ts, run_id
    LIMIT %(most)s
)
FOR UPDATE SKIP LOCKED
