-- Completions of datasets registered without a run, at most so many, that Dagster has.
DELETE FROM catalog.completion
WHERE (organisation_id, event_key) IN (
    SELECT organisation_id, event_key
    FROM catalog.completion old
    WHERE organisation_id = %(organisation)s
      AND run_id IS NULL
      AND at < %(before)s
      AND NOT EXISTS (
          SELECT FROM catalog.pending_materialization pending
          WHERE pending.organisation_id = old.organisation_id AND pending.event_key = old.event_key
      )
    LIMIT %(most)s
    FOR UPDATE SKIP LOCKED
)
