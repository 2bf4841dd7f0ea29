-- The chosen runs that were reported again after they were archived.
SELECT run_id
FROM pg_temp.chosen_run
JOIN catalog.process_run run USING (run_id, start_ts)
WHERE run.archived_day IS NOT NULL
