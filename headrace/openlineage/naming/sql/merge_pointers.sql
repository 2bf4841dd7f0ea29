-- Delete the moves that merge_moves.sql has returned.
WITH move AS (
    DELETE FROM catalog.pointer_move
    WHERE dataset_id IN (%(old)s, %(into)s)
      AND partition_key IN (SELECT partition_key FROM catalog.pointer_move WHERE dataset_id = %(old)s)
)
DELETE FROM catalog.published_pointer WHERE dataset_id = %(old)s
