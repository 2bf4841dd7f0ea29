-- Deletes versions that no longer hold, and those that a final one replaces, with what waits for Dagster and their moves;
-- and of derived places (move_pointers.sql) the history from `since` on. Versions that were pinned, read or checked stay.
-- Returns the other datasets whose published version was deleted.
WITH place AS MATERIALIZED (
    -- generation: of the last move before `since`. Such moves are numbered in the order of their times: it is found
    -- backwards from the newest, once per place.
    SELECT item.*, coalesce((
               SELECT generation
               FROM catalog.pointer_move before
               WHERE before.dataset_id = item.dataset_id
                 AND before.partition_key = item.partition_key
                 AND before.moved_at < item.since
               ORDER BY generation DESC
               LIMIT 1
           ), 0) AS generation
    FROM jsonb_to_recordset(%(places)s) AS item (dataset_id uuid, partition_key text, since timestamptz)
    CROSS JOIN LATERAL (
        SELECT full_name FROM catalog.dataset WHERE dataset.dataset_id = item.dataset_id OFFSET 0
    ) dataset -- this and what follows by the index, whatever statistics the planner has
    WHERE position('#' IN full_name) > 0
      AND NOT EXISTS (SELECT FROM catalog.pointer_move move WHERE move.dataset_id = item.dataset_id AND kind = 'ROLLBACK')
), gone AS MATERIALIZED (
    SELECT dataset_version_id
    FROM (
        SELECT unnest(%(gone)s::uuid[]) AS dataset_version_id
        UNION
        SELECT replaced.dataset_version_id
        FROM jsonb_to_recordset(%(final)s) AS item (dataset_id uuid, version_tag text, partition_key text)
        CROSS JOIN LATERAL (
            SELECT dataset_version_id, idempotency_key
            FROM catalog.dataset_version stored
            WHERE stored.dataset_id = item.dataset_id
              AND stored.version_tag = item.version_tag
              AND stored.partition_key = item.partition_key
            OFFSET 0
        ) replaced
        WHERE starts_with(replaced.idempotency_key, 'openlineage/')
    ) version
    WHERE NOT EXISTS (SELECT FROM catalog.dataset_pin pin WHERE pin.dataset_version_id = version.dataset_version_id)
      AND NOT EXISTS (SELECT FROM catalog.run_input used WHERE used.dataset_version_id = version.dataset_version_id)
      AND NOT EXISTS (
          SELECT FROM catalog.version_input used
          JOIN catalog.dataset_version reader USING (dataset_version_id)
          WHERE used.input_version_id = version.dataset_version_id
            AND NOT starts_with(reader.idempotency_key, 'openlineage/')
      )
      AND NOT EXISTS (
          SELECT FROM catalog.quality_check_result result WHERE result.dataset_version_id = version.dataset_version_id)
), move AS (
    DELETE FROM catalog.pointer_move USING place
    WHERE pointer_move.dataset_id = place.dataset_id
      AND pointer_move.partition_key = place.partition_key
      AND pointer_move.generation > place.generation
), pointer AS (
    DELETE FROM catalog.published_pointer USING place, gone
    WHERE published_pointer.dataset_id = place.dataset_id
      AND published_pointer.partition_key = place.partition_key
      AND published_pointer.dataset_version_id = gone.dataset_version_id
), move_of_version AS (
    DELETE FROM catalog.pointer_move USING gone WHERE pointer_move.dataset_version_id = gone.dataset_version_id
), emptied AS (
    UPDATE catalog.published_pointer pointer SET dataset_version_id = NULL
    FROM gone
    WHERE pointer.dataset_version_id = gone.dataset_version_id
      AND pointer.dataset_id NOT IN (SELECT dataset_id FROM place)
    RETURNING pointer.dataset_id
), input AS (
    DELETE FROM catalog.version_input used USING gone
    WHERE gone.dataset_version_id IN (used.dataset_version_id, used.input_version_id)
), pending AS (
    DELETE FROM catalog.pending_materialization pending USING gone
    WHERE pending.organisation_id = %(organisation)s AND pending.completion_id = gone.dataset_version_id
), version AS (
    DELETE FROM catalog.dataset_version version USING gone
    WHERE version.dataset_version_id = gone.dataset_version_id
)
SELECT dataset_id FROM emptied
