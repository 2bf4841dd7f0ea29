-- Record that a sensor's tick failed, possibly before anything is registered; the next successful one clears it.
WITH mine AS (
    INSERT INTO catalog.organisation (organisation_id, name) VALUES (%(organisation)s, %(name)s)
    ON CONFLICT DO NOTHING
)
INSERT INTO catalog.heartbeat AS heartbeat (organisation_id, sensor, failed_at, failure, silent_after)
VALUES (%(organisation)s, %(sensor)s, %(now)s, %(failure)s, %(silent_after)s)
ON CONFLICT (organisation_id, sensor) DO UPDATE
SET failed_at = coalesce(heartbeat.failed_at, excluded.failed_at), failure = excluded.failure
