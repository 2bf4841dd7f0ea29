SELECT event_time, event_type, run_id, process_key, payload_json, historical, received_at, content_hash, source,
       NULL::text AS location
FROM catalog.run_event
WHERE organisation_id = %(organisation)s
  AND (%(process)s::text IS NULL OR process_key = %(process)s)
  AND (%(type)s::text IS NULL OR event_type = %(type)s)
  AND (%(lower)s::uuid IS NULL OR run_id BETWEEN %(lower)s AND %(upper)s)
  AND event_time >= %(since)s
  AND event_time < %(until)s
ORDER BY event_time DESC, content_hash
LIMIT %(most)s
