-- The edges between shown nodes, and for each node the number of edges to hidden ones, in the direction of traversal. A
-- dependency between two processes may have several conditions.
WITH shown AS MATERIALIZED (
    SELECT unnest(%(ids)s::uuid[]) AS id
), step AS MATERIALIZED (
    SELECT step.near, shown.id AS far, step.far AS reached, step.role, step.condition
    FROM catalog.process_steps(%(ids)s, %(up)s, %(at)s) AS step
    LEFT JOIN shown ON shown.id = step.far
)
SELECT near, far, role, string_agg(DISTINCT condition, ', ' ORDER BY condition) AS condition, 1 AS edges
FROM step
WHERE far IS NOT NULL
GROUP BY near, far, role
UNION ALL
SELECT near, NULL, NULL, NULL, count(DISTINCT (reached, role))
FROM step
WHERE far IS NULL
GROUP BY near
