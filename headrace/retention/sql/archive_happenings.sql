-- Deletes happenings of which no alert is left, or of which none was made.
DELETE FROM catalog.happening
WHERE happening_id IN (
    SELECT happening_id
    FROM catalog.happening
    WHERE organisation_id = %(organisation)s
      AND told_at < %(before)s
      AND NOT EXISTS (SELECT FROM catalog.alert WHERE alert.alert_id = happening.incident_id)
    LIMIT %(most)s
)
