-- Retracts the completions of runs that turned out otherwise. Triggered runs and materializations in Dagster continue;
-- a version of a dataset with a Headrace key stays, and is still reported to Dagster.
WITH gone AS (
    DELETE FROM catalog.pending_materialization
    WHERE organisation_id = %(organisation)s AND event_key = ANY (%(completions)s::text[]) AND subject_type = 'PROCESS'
)
DELETE FROM catalog.completion known
WHERE organisation_id = %(organisation)s
  AND event_key = ANY (%(completions)s::text[])
  AND NOT EXISTS (
      SELECT FROM catalog.pending_materialization waiting
      WHERE waiting.organisation_id = known.organisation_id
        AND waiting.event_key = known.event_key
        AND waiting.subject_type = 'DATASET'
  )
