-- What was told is told, unless another run or version has come meanwhile, which waits.
UPDATE catalog.announcement told SET state = 'TOLD', changed_at = now()
FROM unnest(%(subjects)s::uuid[], %(partitions)s::text[], %(runs)s::uuid[], %(versions)s::uuid[])
    AS item (subject_id, partition_key, run_id, version_id)
WHERE told.organisation_id = %(organisation)s
  AND told.subject_id = item.subject_id
  AND told.partition_key = item.partition_key
  AND told.run_id IS NOT DISTINCT FROM item.run_id
  AND told.version_id IS NOT DISTINCT FROM item.version_id
  AND told.state = 'TELLING'
