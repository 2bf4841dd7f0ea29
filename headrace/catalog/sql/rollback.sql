-- The version that was published before the currently published one (not: before the last move, which may itself have
-- been a rollback).
SELECT before.dataset_version_id
FROM catalog.pointer_move first
JOIN catalog.pointer_move before
    ON before.dataset_id = first.dataset_id
   AND before.partition_key = first.partition_key
   AND before.generation = first.generation - 1
WHERE first.dataset_version_id = %(current)s AND first.kind = 'PUBLISH'
