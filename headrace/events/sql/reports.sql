-- Stored reports, of these runs or with these digests, each with its process. By digest alone, because a report with a
-- key from its reporter may be repeated with another time. Each is found by the index of its key in the partitions,
-- whatever statistics the planner has.
SELECT event.content_hash, event.run_id, process.process_id, event.payload_json, event.historical, event.sequence,
       event.received_at
FROM (
    SELECT found.*
    FROM unnest(%(run_ids)s::uuid[]) AS wanted (run_id)
    CROSS JOIN LATERAL (
        SELECT content_hash, run_id, process_key, payload_json, historical, sequence, received_at, source
        FROM catalog.run_event
        WHERE run_id = wanted.run_id AND organisation_id = %(organisation)s
        OFFSET 0
    ) found
    WHERE found.source = 'SCHEDULER'
    UNION ALL
    SELECT found.*
    FROM unnest(%(digests)s::text[]) AS wanted (digest)
    CROSS JOIN LATERAL (
        SELECT content_hash, run_id, process_key, payload_json, historical, sequence, received_at, source
        FROM catalog.run_event
        WHERE content_hash = wanted.digest AND organisation_id = %(organisation)s AND source = 'SCHEDULER'
        OFFSET 0
    ) found
    WHERE found.run_id IS NULL OR found.run_id <> ALL (%(run_ids)s::uuid[])
) event
LEFT JOIN LATERAL (
    SELECT process_id
    FROM catalog.process
    WHERE organisation_id = %(organisation)s AND process_key = event.process_key
    OFFSET 0
) process ON true
