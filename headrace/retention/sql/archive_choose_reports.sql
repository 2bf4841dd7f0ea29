-- What was said of no run, to archive now, at most so many.
INSERT INTO pg_temp.chosen_report (event_key, organisation_id)
SELECT event_key, organisation_id
FROM catalog.reported_event event
WHERE organisation_id = %(organisation)s
  AND run_id IS NULL
  AND at >= %(first)s
  AND at < least(%(last)s::timestamptz, %(before)s::timestamptz)
  AND NOT EXISTS (
      SELECT FROM catalog.pending_materialization
      WHERE pending_materialization.organisation_id = event.organisation_id
        AND pending_materialization.event_key = event.event_key
  )
ORDER BY at, event_key
LIMIT %(most)s
FOR UPDATE SKIP LOCKED
