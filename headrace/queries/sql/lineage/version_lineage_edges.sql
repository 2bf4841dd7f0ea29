SELECT near, CASE WHEN far = ANY (%(ids)s::uuid[]) THEN far END AS far
FROM unnest(%(ids)s::uuid[]) AS shown (near)
JOIN LATERAL (
    SELECT dataset_version_id AS far FROM catalog.version_input WHERE NOT %(up)s::boolean AND input_version_id = near
    UNION ALL
    SELECT input_version_id FROM catalog.version_input WHERE %(up)s::boolean AND dataset_version_id = near
) edge ON true
