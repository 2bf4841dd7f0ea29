-- Move waiting members of some incidents to others; incidents without members are closed as part of them, and so are
-- those merged into them before.
WITH moved AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(moved)s) AS item (incident_id uuid, part_of uuid, closed boolean)
), parts AS MATERIALIZED (
    SELECT incident_id, part_of FROM moved WHERE closed
    UNION ALL
    SELECT part.incident_id, moved.part_of
    FROM moved
    JOIN catalog.incident part ON part.part_of = moved.incident_id
    WHERE moved.closed
), closed AS (
    UPDATE catalog.incident
    SET part_of = parts.part_of, closed_at = coalesce(closed_at, greatest(%(now)s, opened_at))
    FROM parts
    WHERE incident.incident_id = parts.incident_id AND incident.organisation_id = %(organisation)s
)
UPDATE catalog.sla_objective objective
SET incident_id = moved.part_of
FROM moved
WHERE objective.incident_id = moved.incident_id
  AND objective.organisation_id = %(organisation)s
  AND kind <> 'VOLUME'
  AND (kind <> 'RUN_TIME' OR state <> 'MISSED')
