-- The chosen events that arrived when they were old enough to have been archived before.
SELECT event_time, content_hash
FROM pg_temp.chosen_event
JOIN catalog.run_event event USING (event_time, content_hash, organisation_id)
WHERE event.received_at > event_time + %(age)s
