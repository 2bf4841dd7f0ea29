-- Runs that are in the archive have told what they tell; their rows stay there alone.
WITH run AS (
    DELETE FROM catalog.openlineage_run
    WHERE organisation_id = %(organisation)s
      AND run_id <> ALL (%(hot)s::uuid[])
      AND EXISTS (SELECT FROM catalog.archive_file WHERE organisation_id = %(organisation)s AND state = 'KEPT')
    RETURNING run_id, native
), attempt AS (
    DELETE FROM catalog.run_attempt USING run WHERE run_attempt.run_id = run.run_id AND NOT run.native
), process_run AS (
    DELETE FROM catalog.process_run USING run WHERE process_run.run_id = run.run_id AND NOT run.native
), used AS (
    DELETE FROM catalog.run_dataset used USING run
    WHERE used.organisation_id = %(organisation)s AND used.run_id = run.run_id
), tested AS (
    DELETE FROM catalog.dataset_assertion tested USING run
    WHERE tested.organisation_id = %(organisation)s AND tested.run_id = run.run_id
)
DELETE FROM catalog.dataset_metrics measured USING run
WHERE measured.organisation_id = %(organisation)s AND measured.run_id = run.run_id
