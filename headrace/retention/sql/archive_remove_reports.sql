DELETE FROM catalog.reported_event event
USING pg_temp.chosen_report chosen
WHERE event.organisation_id = chosen.organisation_id AND event.event_key = chosen.event_key
