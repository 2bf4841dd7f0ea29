-- The runs that schedulers report, and the versions that they wrote, with the history of pointers that no one else
-- moved.
WITH run AS (
    DELETE FROM catalog.process_run
    WHERE organisation_id = %(organisation)s AND facets_json ? 'external_run'
    RETURNING run_id
), attempt AS (
    DELETE FROM catalog.run_attempt attempt USING run
    WHERE attempt.run_id = run.run_id AND attempt.organisation_id = %(organisation)s
), place AS MATERIALIZED (
    SELECT dataset_id, partition_key
    FROM catalog.pointer_move move
    JOIN catalog.dataset_version version USING (dataset_version_id, dataset_id, partition_key)
    WHERE move.organisation_id = %(organisation)s
    GROUP BY dataset_id, partition_key
    HAVING bool_and(move.kind = 'PUBLISH' AND starts_with(version.idempotency_key, 'reported/'))
), move AS (
    DELETE FROM catalog.pointer_move move USING place
    WHERE move.dataset_id = place.dataset_id AND move.partition_key = place.partition_key
), pointer AS (
    DELETE FROM catalog.published_pointer pointer USING place
    WHERE pointer.dataset_id = place.dataset_id AND pointer.partition_key = place.partition_key
), version AS (
    DELETE FROM catalog.dataset_version version USING place
    WHERE version.dataset_id = place.dataset_id
      AND version.partition_key = place.partition_key
      AND starts_with(version.idempotency_key, 'reported/')
    RETURNING version.*
)
INSERT INTO pg_temp.former_version
SELECT *
FROM version
WHERE EXISTS (SELECT FROM catalog.dataset_pin pin WHERE pin.dataset_version_id = version.dataset_version_id)
   OR EXISTS (SELECT FROM catalog.run_input used WHERE used.dataset_version_id = version.dataset_version_id)
   OR EXISTS (SELECT FROM catalog.version_input used
              WHERE version.dataset_version_id IN (used.dataset_version_id, used.input_version_id))
   OR EXISTS (SELECT FROM catalog.pending_materialization pending WHERE pending.version_id = version.dataset_version_id)
   OR EXISTS (SELECT FROM catalog.quality_check_result result
              WHERE result.dataset_version_id = version.dataset_version_id)
