-- Reports received again after they were archived, which are about to be restored from there.
DELETE FROM catalog.run_event
WHERE organisation_id = %(organisation)s AND source = 'SCHEDULER' AND content_hash = ANY (%(digests)s::text[])
RETURNING content_hash, historical
