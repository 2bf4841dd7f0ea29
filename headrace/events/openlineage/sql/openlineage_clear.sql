-- Delete the history of these datasets from `since` on, and obsolete versions. Moves by people or by other writers are
-- not a function of the versions (openlineage_pointers.sql) and stay; so do versions that were pinned or read.
WITH place AS MATERIALIZED (
    SELECT item.*
    FROM jsonb_to_recordset(%(places)s) AS item (dataset_id uuid, since timestamptz)
    JOIN catalog.dataset USING (dataset_id)
    WHERE position('#' IN full_name) > 0
      AND NOT EXISTS (SELECT FROM catalog.pointer_move move WHERE move.dataset_id = item.dataset_id AND kind = 'ROLLBACK')
), move AS (
    -- Such moves are numbered in the order of their times: backwards from the newest, however many precede them.
    DELETE FROM catalog.pointer_move USING place
    WHERE pointer_move.dataset_id = place.dataset_id
      AND partition_key = ''
      AND pointer_move.generation > coalesce((
          SELECT generation
          FROM catalog.pointer_move before
          WHERE before.dataset_id = place.dataset_id AND before.partition_key = '' AND before.moved_at < place.since
          ORDER BY generation DESC
          LIMIT 1
      ), 0)
), pointer AS (
    DELETE FROM catalog.published_pointer USING place
    WHERE published_pointer.dataset_id = place.dataset_id AND partition_key = ''
), gone AS MATERIALIZED (
    SELECT dataset_version_id
    FROM catalog.dataset_version version
    JOIN place USING (dataset_id)
    WHERE dataset_version_id = ANY (%(gone)s::uuid[])
      AND NOT EXISTS (SELECT FROM catalog.dataset_pin pin WHERE pin.dataset_version_id = version.dataset_version_id)
      AND NOT EXISTS (SELECT FROM catalog.run_input used WHERE used.dataset_version_id = version.dataset_version_id)
      AND NOT EXISTS (SELECT FROM catalog.pending_materialization pending WHERE pending.version_id = version.dataset_version_id)
      AND NOT EXISTS (
          SELECT FROM catalog.quality_check_result result WHERE result.dataset_version_id = version.dataset_version_id)
), input AS (
    DELETE FROM catalog.version_input used USING gone
    WHERE gone.dataset_version_id IN (used.dataset_version_id, used.input_version_id)
)
DELETE FROM catalog.dataset_version version USING gone WHERE version.dataset_version_id = gone.dataset_version_id
