-- Reports that were loaded as history and are repeated live: they arrive now.
UPDATE catalog.run_event
SET historical = false, sequence = nextval('catalog.run_event_sequence')
WHERE organisation_id = %(organisation)s AND source = 'SCHEDULER' AND content_hash = ANY (%(digests)s::text[])
