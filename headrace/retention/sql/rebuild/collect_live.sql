-- Events received again after they were archived exist already.
INSERT INTO pg_temp.raw_event
SELECT event_time, content_hash, run_id, process_key, payload_json, historical, received_at, sequence, source
FROM catalog.run_event event
WHERE organisation_id = %(organisation)s
  AND source IS NOT NULL
  AND NOT EXISTS (
      SELECT FROM pg_temp.raw_event archived
      WHERE archived.content_hash = event.content_hash AND archived.source = event.source
  )
