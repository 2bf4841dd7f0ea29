-- By digest alone: a report whose reporter gave it a key may come again with another time.
SELECT content_hash, historical
FROM catalog.run_event
WHERE organisation_id = %(organisation)s AND intake = 'SCHEDULER' AND content_hash = ANY (%(digests)s::text[])
