-- The edges between shown nodes, and of each node how many lead to one that is not shown (`far` null), in the walk's
-- direction. Ids as text, which take a reader a tenth of the time that UUIDs do.
WITH edge AS (
    SELECT source_id AS near, target_id AS far, process_id
    FROM catalog.lineage_edge
    WHERE NOT %(up)s::boolean
      AND source_id = ANY (%(ids)s::uuid[])
      AND edge_role = 'DERIVES'
      AND valid_from <= %(at)s AND (valid_to IS NULL OR valid_to > %(at)s)
    UNION ALL
    SELECT target_id, source_id, process_id
    FROM catalog.lineage_edge
    WHERE %(up)s::boolean
      AND target_id = ANY (%(ids)s::uuid[])
      AND edge_role = 'DERIVES'
      AND valid_from <= %(at)s AND (valid_to IS NULL OR valid_to > %(at)s)
)
SELECT near::text, far::text, process_key, count(*) AS edges
FROM (
    SELECT near, far, process_id FROM edge WHERE far = ANY (%(ids)s::uuid[])
    UNION ALL
    SELECT near, NULL, NULL FROM edge WHERE far <> ALL (%(ids)s::uuid[])
) shown
LEFT JOIN catalog.process USING (process_id)
GROUP BY near, far, process_key
