-- The combined histories of the pointers of %(old)s and of %(into)s, for the partitions of %(old)s; moves at the same
-- time are ordered as in move_pointers.sql.
SELECT move.partition_key, row_number() OVER of_partition AS generation, move.organisation_id, dataset_version_id,
       lag(dataset_version_id) OVER of_partition AS previous_version_id, kind, run_id, moved_by, move.reason, moved_at
FROM catalog.pointer_move move
JOIN catalog.dataset_version USING (dataset_version_id)
WHERE move.dataset_id IN (%(old)s, %(into)s)
  AND move.partition_key IN (SELECT partition_key FROM catalog.pointer_move WHERE dataset_id = %(old)s)
WINDOW of_partition AS (PARTITION BY move.partition_key ORDER BY moved_at, version_tag COLLATE "C", dataset_version_id)
