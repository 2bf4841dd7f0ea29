SELECT sensor, ticked_at, failed_at, failure,
       ticked_at IS NULL OR ticked_at < now() - silent_after * interval '1 second' AS is_silent
FROM catalog.heartbeat
WHERE organisation_id = %(organisation)s
ORDER BY sensor
