-- Stored reports, of these runs or with these digests, each with the process that it was stored for.
SELECT event.content_hash, event.run_id, process.process_id, event.payload_json, event.historical, event.sequence,
       event.received_at
FROM catalog.run_event event
LEFT JOIN catalog.process ON process.organisation_id = event.organisation_id AND process.process_key = event.process_key
WHERE event.organisation_id = %(organisation)s
  AND event.intake = 'SCHEDULER'
  AND (event.run_id = ANY (%(run_ids)s::uuid[]) OR event.content_hash = ANY (%(digests)s::text[]))
  AND event.content_hash <> ALL (%(without)s::text[])
