-- Scheduler reports of the chosen runs are archived with them: until then each further report is folded with all of
-- them.
INSERT INTO pg_temp.chosen_event (event_time, content_hash, organisation_id)
SELECT event_time, content_hash, organisation_id
FROM catalog.run_event
WHERE organisation_id = %(organisation)s
  AND source = 'SCHEDULER'
  AND run_id IN (SELECT run_id FROM pg_temp.chosen_run)
