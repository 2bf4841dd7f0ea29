-- Deletes the rows of runs that have another id now; they are written again under that. Scheduler reports stay.
WITH attempt AS (
    DELETE FROM catalog.run_attempt attempt
    WHERE organisation_id = %(organisation)s
      AND run_id = ANY (%(runs)s::uuid[])
      AND NOT EXISTS (
          SELECT FROM catalog.process_run run
          WHERE run.run_id = attempt.run_id AND run.start_ts = attempt.run_start_ts AND run.facets_json ? 'external_run'
      )
), used AS (
    DELETE FROM catalog.run_dataset WHERE organisation_id = %(organisation)s AND run_id = ANY (%(runs)s::uuid[])
), reported AS (
    DELETE FROM catalog.openlineage_run WHERE organisation_id = %(organisation)s AND run_id = ANY (%(runs)s::uuid[])
)
DELETE FROM catalog.process_run
WHERE organisation_id = %(organisation)s AND run_id = ANY (%(runs)s::uuid[]) AND NOT facets_json ? 'external_run'
