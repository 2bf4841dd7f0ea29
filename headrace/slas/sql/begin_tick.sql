-- Record a tick; returns the time of the previous one (null: none), and whether it used other time-zone rules.
WITH last AS (
    SELECT zone_rules FROM catalog.sla_tick WHERE organisation_id = %(organisation)s
)
INSERT INTO catalog.sla_tick AS tick (organisation_id, evaluated_at, steady_since, zone_rules)
SELECT organisation_id, %(now)s, %(now)s, %(zone_rules)s
FROM catalog.organisation
WHERE organisation_id = %(organisation)s
ON CONFLICT (organisation_id) DO UPDATE
    SET before = tick.evaluated_at, evaluated_at = excluded.evaluated_at, zone_rules = excluded.zone_rules,
        steady_since = CASE WHEN excluded.evaluated_at - tick.evaluated_at > %(pause)s THEN excluded.steady_since
                       ELSE tick.steady_since END
RETURNING before, zone_rules <> coalesce((SELECT zone_rules FROM last), zone_rules) AS zones_changed
