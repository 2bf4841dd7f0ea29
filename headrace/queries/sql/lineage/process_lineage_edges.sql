-- The edges between shown nodes, and for each node the number of edges to hidden ones, in the direction of traversal. A
-- dependency between two processes may have several conditions.
SELECT near, CASE WHEN far = ANY (%(ids)s::uuid[]) THEN far END AS far,
       CASE WHEN far = ANY (%(ids)s::uuid[]) THEN role END AS role,
       CASE WHEN far = ANY (%(ids)s::uuid[]) THEN string_agg(DISTINCT condition, ', ' ORDER BY condition) END AS condition,
       count(DISTINCT (far, role)) AS edges
FROM catalog.process_steps(%(ids)s, %(up)s, %(at)s)
GROUP BY 1, 2, 3, far = ANY (%(ids)s::uuid[])
