-- Like lineage.sql, from version to version.
WITH RECURSIVE walk AS (
    SELECT %(start)s::uuid[] AS frontier, %(start)s::uuid[] AS seen, 0 AS depth
    UNION ALL
    SELECT next.ids, walk.seen || next.ids, walk.depth + 1
    FROM walk
    CROSS JOIN LATERAL (
        SELECT array_agg(id) AS ids
        FROM (
            SELECT id
            FROM (
                SELECT used.dataset_version_id AS id
                FROM catalog.version_input used
                WHERE NOT %(up)s::boolean AND used.input_version_id = ANY (walk.frontier)
                UNION ALL
                SELECT used.input_version_id
                FROM catalog.version_input used
                WHERE %(up)s::boolean AND used.dataset_version_id = ANY (walk.frontier)
            ) reached
            EXCEPT
            SELECT unnest(walk.seen)
            LIMIT greatest(%(nodes)s - cardinality(walk.seen), 0)
        ) fresh
    ) next
    WHERE walk.depth < %(depth)s AND next.ids IS NOT NULL
)
SELECT version.dataset_version_id AS version_id, dataset.full_name AS dataset, version.partition_key,
       version.version_tag AS tag, version.outcome, version.produced_by_run_id AS run_id, node.depth
FROM (SELECT unnest(frontier) AS dataset_version_id, depth FROM walk) node
JOIN catalog.dataset_version version USING (dataset_version_id)
JOIN catalog.dataset USING (dataset_id)
ORDER BY node.depth, dataset.full_name, version.partition_key
