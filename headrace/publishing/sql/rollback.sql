-- The version that was published before the currently published one (not: before the last move, which may itself have
-- been a rollback); of a withdrawn pointer the one that was published last.
SELECT before.dataset_version_id
FROM catalog.pointer_move before
LEFT JOIN catalog.pointer_move first
    ON first.dataset_version_id = %(current)s AND first.kind = 'PUBLISH'
WHERE before.dataset_id = %(dataset_id)s
  AND before.partition_key = %(partition)s
  AND before.dataset_version_id IS NOT NULL
  AND NOT EXISTS (
      SELECT FROM catalog.expired_version expired WHERE expired.dataset_version_id = before.dataset_version_id)
  AND (%(current)s::uuid IS NULL OR before.generation < first.generation)
ORDER BY before.generation DESC
LIMIT 1
