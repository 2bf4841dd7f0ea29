SELECT event.*
FROM pg_temp.chosen_event
JOIN catalog.run_event event USING (event_time, content_hash, organisation_id)
ORDER BY event_time, content_hash
