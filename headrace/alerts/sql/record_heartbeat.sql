-- Record a sensor's successful tick, possibly before anything is registered.
WITH mine AS (
    INSERT INTO catalog.organisation (organisation_id, name) VALUES (%(organisation)s, %(name)s)
    ON CONFLICT DO NOTHING
)
INSERT INTO catalog.heartbeat (organisation_id, sensor, ticked_at, silent_after)
VALUES (%(organisation)s, %(sensor)s, %(now)s, %(silent_after)s)
ON CONFLICT (organisation_id, sensor) DO UPDATE
SET ticked_at = excluded.ticked_at, silent_after = excluded.silent_after, failed_at = NULL, failure = NULL
