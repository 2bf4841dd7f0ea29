-- What is still pending for Dagster of a run that turned out otherwise is read from its completion.
DELETE FROM catalog.completion known
WHERE organisation_id = %(organisation)s
  AND NOT (starts_with(event_key, 'openlineage/') AND EXISTS (
      SELECT FROM catalog.pending_materialization pending
      WHERE pending.organisation_id = known.organisation_id
        AND pending.event_key = known.event_key
        AND pending.subject_type = 'DATASET'
  ))
