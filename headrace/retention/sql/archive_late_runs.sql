-- External runs that were reported on when they were old enough to have been archived before.
SELECT run.run_id
FROM catalog.process_run run
WHERE run.organisation_id = %(organisation)s
  AND run.start_ts < %(before)s
  AND EXISTS (
      SELECT FROM catalog.run_event event
      WHERE event.run_id = run.run_id
        AND event.source IS NOT NULL
        AND event.received_at > run.start_ts + %(age)s
  )
