-- Merge all due notifications of a recipient into a digest, also those beyond the batch, except those sent on their own:
-- `alone`, retries, which the recipient may have received, and digests. The digest has the highest severity of them.
WITH merged AS (
    UPDATE catalog.notification
    SET state = 'MERGED', digest_id = %(digest)s, reason = 'sent in one with others'
    WHERE organisation_id = %(organisation)s AND destination = %(destination)s AND address = %(address)s
      AND state = 'PENDING' AND next_try_at <= %(now)s AND tries = 0 AND purpose <> 'DIGEST'
      AND notification_id <> ALL (%(alone)s)
    RETURNING severity
)
UPDATE catalog.notification
SET severity = (
    SELECT severity FROM merged
    ORDER BY array_position(ARRAY['INFO', 'WARNING', 'ERROR', 'CRITICAL'], severity) DESC LIMIT 1
)
WHERE organisation_id = %(organisation)s AND notification_id = %(digest)s
RETURNING severity
