-- The histories of the pointers of %(old)s and of %(into)s, of the partitions that %(old)s has, told as one.
SELECT partition_key, row_number() OVER of_partition AS generation, organisation_id, dataset_version_id,
       lag(dataset_version_id) OVER of_partition AS previous_version_id, kind, run_id, moved_by, reason, moved_at
FROM catalog.pointer_move
WHERE dataset_id IN (%(old)s, %(into)s)
  AND partition_key IN (SELECT partition_key FROM catalog.pointer_move WHERE dataset_id = %(old)s)
WINDOW of_partition AS (PARTITION BY partition_key ORDER BY moved_at, dataset_version_id)
