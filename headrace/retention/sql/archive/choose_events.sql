-- Events to archive now, at most so many, earliest first; not scheduler reports of runs that stay. Locked ones are
-- skipped.
INSERT INTO pg_temp.chosen_event (event_time, content_hash, organisation_id)
SELECT event_time, content_hash, organisation_id
FROM catalog.run_event event
WHERE organisation_id = %(organisation)s
  AND event_time >= %(first)s
  AND event_time < least(%(last)s::timestamptz, %(before)s::timestamptz)
  AND (source IS DISTINCT FROM 'SCHEDULER'
       OR run_id IS NULL
       OR NOT EXISTS (SELECT FROM catalog.process_run run WHERE run.run_id = event.run_id))
ORDER BY event_time, content_hash
LIMIT %(most)s
FOR UPDATE SKIP LOCKED
