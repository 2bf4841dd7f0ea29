INSERT INTO catalog.run_event (
    event_time, organisation_id, run_id, process_key, event_type, payload_json, content_hash, source, historical, received_at
)
SELECT event_time, %(organisation)s, item.run_id, process_key, event_type, payload, content_hash, 'OPENLINEAGE', historical,
       statement_timestamp()
FROM jsonb_to_recordset(%(events)s) AS item (
    event_time timestamptz, content_hash text, run_id uuid, process_id uuid, event_type text, payload jsonb,
    historical boolean
)
LEFT JOIN catalog.process USING (process_id)
ON CONFLICT (event_time, content_hash, organisation_id) DO UPDATE
    SET historical = false, sequence = excluded.sequence
    WHERE NOT excluded.historical
RETURNING content_hash, sequence
