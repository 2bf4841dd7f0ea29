-- Stores new reports, numbered in the order of their times.
INSERT INTO catalog.run_event (
    event_time, organisation_id, run_id, process_key, event_type, payload_json, content_hash, source, historical, received_at
)
SELECT event_time, %(organisation)s, run_id, process_key, event_type, payload, content_hash, 'SCHEDULER', historical,
       statement_timestamp()
FROM jsonb_to_recordset(%(events)s) AS item (
    event_time timestamptz, event_key text, run_id uuid, process_key text, event_type text, payload jsonb, content_hash text,
    historical boolean
)
ORDER BY event_time, event_key COLLATE "C"
RETURNING content_hash, sequence, received_at
