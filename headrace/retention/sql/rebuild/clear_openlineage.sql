-- Reports of runs and jobs on datasets and columns, and the runs known from nothing else.
WITH run AS (
    DELETE FROM catalog.openlineage_run WHERE organisation_id = %(organisation)s RETURNING run_id, native
), attempt AS (
    DELETE FROM catalog.run_attempt USING run
    WHERE run_attempt.run_id = run.run_id AND NOT run.native AND run_attempt.organisation_id = %(organisation)s
), process_run AS (
    DELETE FROM catalog.process_run USING run
    WHERE process_run.run_id = run.run_id AND NOT run.native AND process_run.organisation_id = %(organisation)s
), used AS (
    DELETE FROM catalog.run_dataset WHERE organisation_id = %(organisation)s
), facet AS (
    DELETE FROM catalog.facet WHERE organisation_id = %(organisation)s
), columns AS (
    DELETE FROM catalog.column_lineage WHERE organisation_id = %(organisation)s AND via <> 'plan'
), stated AS (
    DELETE FROM catalog.column_lineage_report WHERE organisation_id = %(organisation)s AND via <> 'plan'
), assertion AS (
    DELETE FROM catalog.dataset_assertion WHERE organisation_id = %(organisation)s
), measured AS (
    DELETE FROM catalog.dataset_metrics WHERE organisation_id = %(organisation)s
)
DELETE FROM catalog.lineage_edge edge
USING catalog.process
WHERE edge.organisation_id = %(organisation)s
  AND edge.origin = 'OBSERVED'
  AND process.process_id = edge.process_id
  AND (process.job_name IS NOT NULL OR process.external_name IS NOT NULL)
  AND NOT EXISTS (
      SELECT FROM catalog.process_run own
      WHERE own.process_id = process.process_id AND own.root_dagster_run_id IS NOT NULL
  )
