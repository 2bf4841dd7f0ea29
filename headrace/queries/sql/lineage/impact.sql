-- The direct and transitive readers of a dataset: the datasets derived from it, and the processes that read any of
-- them. Breadth first, each visited once at its least depth. `nodes` limits the visited datasets.
WITH RECURSIVE walk AS (
    SELECT ARRAY[%(dataset_id)s::uuid] AS frontier, ARRAY[%(dataset_id)s::uuid] AS seen, 0 AS depth
    UNION ALL
    SELECT next.ids, walk.seen || next.ids, walk.depth + 1
    FROM walk
    CROSS JOIN LATERAL (
        SELECT array_agg(id) AS ids
        FROM (
            SELECT edge.target_id AS id
            FROM catalog.lineage_edge edge
            WHERE edge.source_id = ANY (walk.frontier)
              AND edge.edge_role = 'DERIVES'
              AND edge.valid_from <= %(at)s AND (edge.valid_to IS NULL OR edge.valid_to > %(at)s)
            EXCEPT
            SELECT unnest(walk.seen)
            LIMIT greatest(%(nodes)s - cardinality(walk.seen), 0)
        ) fresh
    ) next
    WHERE walk.depth < %(depth)s AND next.ids IS NOT NULL
), reached AS MATERIALIZED (
    SELECT unnest(frontier) AS dataset_id, depth FROM walk
), reader AS (
    SELECT edge.target_id AS process_id, min(reached.depth) + 1 AS depth
    FROM reached
    JOIN catalog.lineage_edge edge ON edge.source_id = reached.dataset_id
    WHERE reached.depth < %(depth)s
      AND edge.edge_role = 'CONSUMES'
      AND edge.valid_from <= %(at)s AND (edge.valid_to IS NULL OR edge.valid_to > %(at)s)
    GROUP BY edge.target_id
), node AS MATERIALIZED (
    SELECT 'DATASET' AS kind, dataset_id AS id, depth, full_name AS key, owners, description
    FROM reached
    JOIN catalog.dataset USING (dataset_id)
    WHERE depth > 0
    UNION ALL
    SELECT 'PROCESS', process_id, depth, process_key, owners, description
    FROM reader
    JOIN catalog.process USING (process_id)
), page AS (
    SELECT *
    FROM node
    WHERE (depth, kind, key) > (%(after_depth)s::integer, %(after_kind)s::text, %(after_key)s::text)
    ORDER BY depth, kind, key
    LIMIT %(limit)s
)
SELECT totals.*, kind, id, depth, key, owners, description,
       NOT EXISTS (
           SELECT FROM catalog.lineage_edge edge
           WHERE edge.source_id = page.id
             AND edge.target_id <> page.id
             AND edge.valid_from <= %(at)s AND (edge.valid_to IS NULL OR edge.valid_to > %(at)s)
       ) AS is_end
FROM (
    SELECT count(*) FILTER (WHERE kind = 'DATASET') AS datasets, count(*) FILTER (WHERE kind = 'PROCESS') AS processes,
           (SELECT count(*) FROM reached) >= %(nodes)s AS truncated
    FROM node
) totals
LEFT JOIN page ON true
ORDER BY depth, kind, key
