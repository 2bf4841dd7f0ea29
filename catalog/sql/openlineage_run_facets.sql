-- From the events of the run themselves, which keep all of them.
SELECT DISTINCT ON (facet.name) facet.name, facet.content, event.event_time AS at
FROM catalog.openlineage_run run
JOIN catalog.process USING (process_id)
JOIN catalog.run_event event
    ON event.organisation_id = run.organisation_id
   AND event.run_id = run.reported_run_id
   AND event.process_key = process.process_key
CROSS JOIN LATERAL jsonb_each(event.payload_json -> 'run' -> 'facets') AS facet (name, content)
WHERE run.run_id = %(run_id)s
  AND jsonb_typeof(event.payload_json -> 'run' -> 'facets') = 'object'
ORDER BY facet.name, event.event_time DESC, event.content_hash DESC
