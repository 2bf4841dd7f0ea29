INSERT INTO pg_temp.chosen_report (event_key, organisation_id)
SELECT event_key, organisation_id
FROM catalog.reported_event
WHERE organisation_id = %(organisation)s AND run_id IN (SELECT run_id FROM pg_temp.chosen_run)
