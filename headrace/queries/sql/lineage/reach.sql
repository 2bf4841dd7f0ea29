-- Breadth first: each node is visited once, at its least depth, so that cycles and diamonds are cheap.
WITH RECURSIVE walk AS (
    SELECT ARRAY[dataset_id] AS frontier, ARRAY[dataset_id] AS seen, 0 AS depth
    FROM catalog.dataset
    WHERE dataset_id = %(dataset_id)s
    UNION ALL
    SELECT next.ids, walk.seen || next.ids, walk.depth + 1
    FROM walk
    CROSS JOIN LATERAL (
        SELECT array_agg(id) AS ids
        FROM (
            SELECT id
            FROM (
                SELECT edge.target_id AS id
                FROM catalog.lineage_edge edge
                WHERE NOT %(up)s::boolean
                  AND edge.source_id = ANY (walk.frontier)
                  AND edge.edge_role = 'DERIVES'
                  AND edge.valid_from <= %(at)s AND (edge.valid_to IS NULL OR edge.valid_to > %(at)s)
                UNION ALL
                SELECT edge.source_id
                FROM catalog.lineage_edge edge
                WHERE %(up)s::boolean
                  AND edge.target_id = ANY (walk.frontier)
                  AND edge.edge_role = 'DERIVES'
                  AND edge.valid_from <= %(at)s AND (edge.valid_to IS NULL OR edge.valid_to > %(at)s)
            ) reached
            EXCEPT
            SELECT unnest(walk.seen)
            LIMIT greatest(%(nodes)s - cardinality(walk.seen), 0)
        ) fresh
    ) next
    WHERE walk.depth < %(depth)s AND next.ids IS NOT NULL
)
SELECT node.dataset_id, dataset.full_name, node.depth
FROM (SELECT unnest(frontier) AS dataset_id, depth FROM walk) node
JOIN catalog.dataset USING (dataset_id)
ORDER BY node.depth, dataset.full_name
