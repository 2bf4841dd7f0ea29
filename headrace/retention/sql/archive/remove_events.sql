-- Delete the chosen events; their counts by day stay.
WITH gone AS (
    DELETE FROM catalog.run_event event
    USING pg_temp.chosen_event chosen
    WHERE event.organisation_id = chosen.organisation_id
      AND event.event_time = chosen.event_time
      AND event.content_hash = chosen.content_hash
    RETURNING event.organisation_id, event.event_time, event.event_type
)
INSERT INTO catalog.event_day AS known (organisation_id, day, event_type, events)
SELECT organisation_id, (event_time AT TIME ZONE 'UTC')::date, event_type, count(*)
FROM gone
GROUP BY 1, 2, 3
ON CONFLICT (organisation_id, day, event_type) DO UPDATE SET events = known.events + excluded.events
