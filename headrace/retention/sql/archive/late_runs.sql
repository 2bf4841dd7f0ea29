-- Runs that were reported again after they were archived.
SELECT run_id
FROM catalog.process_run
WHERE organisation_id = %(organisation)s AND archived_day IS NOT NULL
