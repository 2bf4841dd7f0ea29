-- The edges between nodes that are shown, and of each node how many lead to one that is not, in the walk's direction. Of one
-- process that waits for another several conditions may tell.
SELECT near, CASE WHEN far = ANY (%(ids)s::uuid[]) THEN far END AS far,
       CASE WHEN far = ANY (%(ids)s::uuid[]) THEN role END AS role,
       CASE WHEN far = ANY (%(ids)s::uuid[]) THEN string_agg(DISTINCT condition, ', ' ORDER BY condition) END AS condition,
       count(DISTINCT (far, role)) AS edges
FROM catalog.process_steps(%(ids)s, %(up)s, %(at)s)
GROUP BY 1, 2, 3, far = ANY (%(ids)s::uuid[])
