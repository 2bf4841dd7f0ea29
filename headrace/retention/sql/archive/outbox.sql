-- Deletes outbox messages older than `before`, at most so many. Unread ones stay, unless the reader has been inactive
-- for a year.
DELETE FROM catalog.outbox
WHERE outbox_id IN (
    SELECT outbox_id
    FROM catalog.outbox message
    WHERE organisation_id = %(organisation)s
      AND created_at < %(before)s
      AND NOT EXISTS (
          SELECT
          FROM catalog.outbox_reader reader
          WHERE reader.organisation_id = message.organisation_id
            AND reader.read_at >= %(before)s::timestamptz - interval '1 year'
            AND (reader.transaction_id, reader.outbox_id) < (message.transaction_id, message.outbox_id)
      )
    ORDER BY outbox_id
    LIMIT %(most)s
    FOR UPDATE SKIP LOCKED
)
