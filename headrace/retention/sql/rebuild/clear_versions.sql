-- The versions reported by external runs, with the history of the pointers derived from them.
WITH version AS MATERIALIZED (
    SELECT version.dataset_version_id, version.dataset_id
    FROM catalog.dataset_version version
    WHERE version.organisation_id = %(organisation)s
      AND version.idempotency_key LIKE 'openlineage/%'
      AND NOT EXISTS (SELECT FROM catalog.dataset_pin pin WHERE pin.dataset_version_id = version.dataset_version_id)
      AND NOT EXISTS (SELECT FROM catalog.run_input used WHERE used.dataset_version_id = version.dataset_version_id)
      AND NOT EXISTS (SELECT FROM catalog.pending_materialization pending WHERE pending.version_id = version.dataset_version_id)
      AND NOT EXISTS (
          SELECT FROM catalog.quality_check_result result WHERE result.dataset_version_id = version.dataset_version_id)
), place AS MATERIALIZED (
    SELECT DISTINCT dataset_id
    FROM catalog.dataset_version
    JOIN catalog.dataset USING (dataset_id)
    WHERE dataset_version.organisation_id = %(organisation)s
      AND idempotency_key LIKE 'openlineage/%'
      AND position('#' IN full_name) > 0
      AND NOT EXISTS (
          SELECT FROM catalog.pointer_move move WHERE move.dataset_id = dataset.dataset_id AND move.kind = 'ROLLBACK')
), move AS (
    DELETE FROM catalog.pointer_move USING place
    WHERE pointer_move.dataset_id = place.dataset_id AND partition_key = ''
), pointer AS (
    DELETE FROM catalog.published_pointer USING place
    WHERE published_pointer.dataset_id = place.dataset_id AND partition_key = ''
), gone AS MATERIALIZED (
    SELECT dataset_version_id FROM version JOIN place USING (dataset_id)
), input AS (
    DELETE FROM catalog.version_input used USING gone
    WHERE gone.dataset_version_id IN (used.dataset_version_id, used.input_version_id)
)
DELETE FROM catalog.dataset_version version USING gone WHERE version.dataset_version_id = gone.dataset_version_id
