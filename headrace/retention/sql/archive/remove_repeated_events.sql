-- Events that were archived before and received again: they are in the archive, and counted.
WITH known AS (
    SELECT * FROM unnest(%(times)s::timestamptz[], %(hashes)s::text[]) AS item (event_time, content_hash)
), removed AS (
    DELETE FROM pg_temp.chosen_event chosen USING known
    WHERE chosen.event_time = known.event_time AND chosen.content_hash = known.content_hash
)
DELETE FROM catalog.run_event event
USING known
WHERE event.organisation_id = %(organisation)s
  AND event.event_time = known.event_time
  AND event.content_hash = known.content_hash
