SELECT event.*
FROM pg_temp.chosen_report
JOIN catalog.reported_event event USING (event_key, organisation_id)
ORDER BY at, event_key
