INSERT INTO pg_temp.live_run_id
SELECT run_id FROM catalog.process_run WHERE organisation_id = %(organisation)s
UNION
SELECT run_id FROM catalog.openlineage_run WHERE organisation_id = %(organisation)s
