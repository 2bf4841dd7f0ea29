SELECT reader.reader, reader.read_at,
       (SELECT count(*) FROM catalog.outbox AS waiting
        WHERE waiting.organisation_id = reader.organisation_id
          AND (waiting.transaction_id, waiting.outbox_id) > (reader.transaction_id, reader.outbox_id)) AS waiting
FROM catalog.outbox_reader AS reader
WHERE reader.organisation_id = %(organisation)s
ORDER BY reader.reader
