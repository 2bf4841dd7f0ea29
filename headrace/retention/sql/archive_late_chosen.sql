-- The chosen runs that were reported on when they were old enough to have been archived before.
SELECT run_id
FROM pg_temp.chosen_run chosen
WHERE EXISTS (
    SELECT FROM catalog.run_event event
    WHERE event.run_id = chosen.run_id
      AND event.source IS NOT NULL
      AND event.received_at > chosen.start_ts + %(age)s
)
