SELECT outage_id, subjects, begins_at, ends_at, reason, planned_by
FROM catalog.planned_outage
WHERE organisation_id = %(organisation)s AND ends_at > %(now)s
ORDER BY begins_at, outage_id
