-- From here to the end of the transaction nobody else moves these pointers: what the next statement sees stays true.
-- Planning that statement costs as much as executing it, so that a connection is to plan it once.
SELECT count(*), set_config('plan_cache_mode', 'force_generic_plan', true)
FROM (
    SELECT pointer.dataset_id
    FROM unnest(%(datasets)s::text[], %(partitions)s::text[]) AS place (full_name, partition_key)
    JOIN catalog.dataset USING (full_name)
    JOIN catalog.published_pointer pointer USING (dataset_id, partition_key)
    WHERE dataset.organisation_id = %(organisation)s
    ORDER BY pointer.dataset_id, pointer.partition_key
    FOR NO KEY UPDATE OF pointer
) locked
