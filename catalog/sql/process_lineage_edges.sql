-- The edges between nodes that are shown, and of each node how many lead to one that is not, in the walk's direction.
SELECT shown.id AS near, CASE WHEN edge.far = ANY (%(ids)s::uuid[]) THEN edge.far END AS far, count(*) AS edges
FROM unnest(%(ids)s::uuid[]) AS shown (id)
JOIN LATERAL (
    SELECT target_id AS far, valid_from, valid_to
    FROM catalog.lineage_edge
    WHERE NOT %(up)s::boolean AND source_id = shown.id AND edge_role IN ('CONSUMES', 'PRODUCES')
    UNION ALL
    SELECT source_id, valid_from, valid_to
    FROM catalog.lineage_edge
    WHERE %(up)s::boolean AND target_id = shown.id AND edge_role IN ('CONSUMES', 'PRODUCES')
) edge ON edge.valid_from <= %(at)s AND (edge.valid_to IS NULL OR edge.valid_to > %(at)s)
GROUP BY 1, 2
