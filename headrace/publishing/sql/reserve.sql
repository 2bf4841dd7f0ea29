-- Locks the pointer of each place, and creates missing ones, in the same order for all, so that two publishers never
-- deadlock. No one else moves these pointers until the transaction ends: the next statement's snapshot stays valid.
-- (PostgreSQL locks a conflicting row even if WHERE then prevents its update.)
INSERT INTO catalog.published_pointer AS pointer (dataset_id, partition_key, organisation_id)
SELECT dataset_id, partition_key, organisation_id
FROM unnest(%(datasets)s::text[], %(partitions)s::text[]) AS place (full_name, partition_key)
JOIN catalog.dataset USING (full_name)
WHERE organisation_id = %(organisation)s
ORDER BY dataset_id, partition_key
ON CONFLICT (dataset_id, partition_key) DO UPDATE SET generation = pointer.generation WHERE false
