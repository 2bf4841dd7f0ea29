-- Locks the pointer of each place, and makes it where there is none yet, in one order for all, so that two publishers
-- never wait for each other. Until the transaction ends nobody else moves these pointers: what the next statement sees
-- stays true. (PostgreSQL locks a row that is in conflict even where WHERE then refuses to update it.)
INSERT INTO catalog.published_pointer AS pointer (dataset_id, partition_key, organisation_id)
SELECT dataset_id, partition_key, organisation_id
FROM unnest(%(datasets)s::text[], %(partitions)s::text[]) AS place (full_name, partition_key)
JOIN catalog.dataset USING (full_name)
WHERE organisation_id = %(organisation)s
ORDER BY dataset_id, partition_key
ON CONFLICT (dataset_id, partition_key) DO UPDATE SET generation = pointer.generation WHERE false
