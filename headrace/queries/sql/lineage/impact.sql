-- The direct and transitive readers of a dataset: the datasets derived from it, and the processes that read any of
-- them. Of a process: all that is downstream of it, each edge a step. Breadth first, each visited once at its least
-- depth. `nodes` limits the visited ones.
WITH RECURSIVE walk AS (
    SELECT ARRAY[%(start)s::uuid] AS frontier, ARRAY[%(start)s::uuid] AS seen, 0 AS depth
    UNION ALL
    SELECT next.ids, walk.seen || next.ids, walk.depth + 1
    FROM walk
    CROSS JOIN LATERAL (
        SELECT array_agg(id) AS ids
        FROM (
            SELECT edge.target_id AS id
            FROM catalog.lineage_edge edge
            WHERE NOT %(of_process)s
              AND edge.source_id = ANY (walk.frontier)
              AND edge.edge_role = 'DERIVES'
              AND edge.valid_from <= %(at)s AND (edge.valid_to IS NULL OR edge.valid_to > %(at)s)
            UNION ALL
            SELECT far FROM catalog.process_steps(walk.frontier, false, %(at)s) WHERE %(of_process)s
            EXCEPT
            SELECT unnest(walk.seen)
            LIMIT greatest(%(nodes)s - cardinality(walk.seen), 0)
        ) fresh
    ) next
    WHERE walk.depth < %(depth)s AND next.ids IS NOT NULL
), reached AS MATERIALIZED (
    SELECT unnest(frontier) AS id, depth FROM walk
), reader AS (
    SELECT edge.target_id AS process_id, min(reached.depth) + 1 AS depth
    FROM reached
    JOIN catalog.lineage_edge edge ON edge.source_id = reached.id
    WHERE NOT %(of_process)s
      AND reached.depth < %(depth)s
      AND edge.edge_role = 'CONSUMES'
      AND edge.valid_from <= %(at)s AND (edge.valid_to IS NULL OR edge.valid_to > %(at)s)
    GROUP BY edge.target_id
    UNION ALL
    SELECT id, depth FROM reached WHERE %(of_process)s AND depth > 0
), node AS MATERIALIZED (
    SELECT 'DATASET' AS kind, id, depth, full_name AS key, owners, description
    FROM reached
    JOIN catalog.dataset ON dataset_id = id
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
