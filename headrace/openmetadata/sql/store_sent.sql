INSERT INTO catalog.openmetadata_sent (
    organisation_id, server, kind, key, parent, fqn, entity_id, sent, digest, is_own, is_deleted)
SELECT %(organisation)s, %(server)s, kind, key, parent, fqn, entity_id, sent, digest, is_own, is_deleted
FROM jsonb_to_recordset(%(rows)s) AS row (
    kind text, key text, parent text, fqn text, entity_id uuid, sent jsonb, digest text, is_own boolean, is_deleted boolean)
ON CONFLICT (organisation_id, server, kind, key) DO UPDATE SET
    parent = excluded.parent, fqn = excluded.fqn, entity_id = excluded.entity_id, sent = excluded.sent,
    digest = excluded.digest, is_own = excluded.is_own, is_deleted = excluded.is_deleted, sent_at = now()
