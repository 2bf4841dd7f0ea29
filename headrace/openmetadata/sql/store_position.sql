INSERT INTO catalog.openmetadata_position (organisation_id, server, transaction_id, outbox_id, read_at, events_at)
VALUES (%(organisation)s, %(server)s, %(transaction_id)s, %(outbox_id)s, %(read_at)s, %(events_at)s)
ON CONFLICT (organisation_id, server) DO UPDATE SET
    transaction_id = excluded.transaction_id, outbox_id = excluded.outbox_id, read_at = excluded.read_at,
    events_at = excluded.events_at
