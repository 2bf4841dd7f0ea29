-- From the events of the run, all of which are kept: in the tables, and in the archive.
SELECT DISTINCT ON (facet.name) facet.name, facet.content, event.event_time AS at
FROM (
    SELECT event_time, content_hash, payload_json
    FROM catalog.run_event
    WHERE organisation_id = %(organisation)s AND run_id = %(reported)s AND process_key = %(process)s
    UNION ALL
    SELECT * FROM jsonb_to_recordset(%(archived)s) AS item (event_time timestamptz, content_hash text, payload_json jsonb)
) event
CROSS JOIN LATERAL jsonb_each(event.payload_json -> 'run' -> 'facets') AS facet (name, content)
WHERE jsonb_typeof(event.payload_json -> 'run' -> 'facets') = 'object'
ORDER BY facet.name, event.event_time DESC, event.content_hash DESC
