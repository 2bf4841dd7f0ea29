-- Breadth first, like lineage.sql, from column to column: each column of each dataset is visited once. The empty field
-- is the whole dataset, which contains all of its columns; a column and its fields touch each other.
WITH RECURSIVE edge AS NOT MATERIALIZED (
    SELECT lineage.*, source.dataset_id AS source_id, target.dataset_id AS target_id,
           lineage.last_at >= report.last_at AS current
    FROM catalog.column_lineage lineage
    JOIN catalog.dataset_name source ON source.name_id = lineage.source_name_id
    JOIN catalog.dataset_name target ON target.name_id = lineage.target_name_id
    JOIN catalog.column_lineage_report report
        ON report.target_name_id = lineage.target_name_id AND report.reporter_id = lineage.reporter_id AND report.via = lineage.via
    WHERE CASE
        WHEN %(as_of)s::timestamptz IS NULL THEN lineage.last_at >= report.last_at
        ELSE lineage.first_at <= %(as_of)s AND (lineage.last_at >= %(as_of)s OR lineage.last_at >= report.last_at)
    END
), walk AS (
    SELECT ARRAY[%(dataset_id)s::uuid] AS datasets, ARRAY[%(field)s::text] AS fields, '{}'::uuid[] AS edges,
           ARRAY[%(dataset_id)s::uuid || '/' || coalesce(%(field)s, '*')] AS seen, 0 AS depth
    UNION ALL
    SELECT next.datasets, next.fields, next.edges, walk.seen || next.keys, walk.depth + 1
    FROM walk
    CROSS JOIN LATERAL (
        SELECT array_agg(far_id) FILTER (WHERE fresh) AS datasets, array_agg(far_field) FILTER (WHERE fresh) AS fields,
               array_agg(DISTINCT column_lineage_id) AS edges,
               coalesce(array_agg(DISTINCT far_id || '/' || far_field) FILTER (WHERE fresh), '{}') AS keys
        FROM (
            SELECT found.*, NOT (far_id || '/' || far_field = ANY (walk.seen)
                                 OR far_id || '/*' = ANY (walk.seen)) AS fresh
            FROM (
                SELECT edge.column_lineage_id, edge.source_id AS far_id, edge.source_field AS far_field
                FROM unnest(walk.datasets, walk.fields) AS near (dataset_id, field)
                JOIN edge ON edge.target_id = near.dataset_id
                         AND (near.field IS NULL OR near.field = '' OR edge.target_field IN (near.field, '')
                              OR starts_with(edge.target_field, near.field || '.')
                              OR starts_with(near.field, edge.target_field || '.'))
                WHERE %(up)s::boolean
                UNION ALL
                SELECT edge.column_lineage_id, edge.target_id, edge.target_field
                FROM unnest(walk.datasets, walk.fields) AS near (dataset_id, field)
                JOIN edge ON edge.source_id = near.dataset_id
                         AND (near.field IS NULL OR near.field = '' OR edge.source_field IN (near.field, '')
                              OR starts_with(edge.source_field, near.field || '.')
                              OR starts_with(near.field, edge.source_field || '.'))
                WHERE NOT %(up)s::boolean
                LIMIT %(limit)s
            ) found
        ) reached
    ) next
    WHERE walk.depth < %(depth)s AND walk.datasets IS NOT NULL AND next.edges IS NOT NULL
), met AS (
    SELECT column_lineage_id, min(depth) AS depth
    FROM walk CROSS JOIN LATERAL unnest(edges) AS each (column_lineage_id)
    GROUP BY column_lineage_id
)
SELECT edge.source_id AS source, source.full_name AS source_key, edge.source_field, edge.target_id AS target,
       target.full_name AS target_key, edge.target_field, process.process_key AS process,
       edge.transformation_type AS type, edge.transformation_subtype AS subtype,
       edge.transformation_description AS description, edge.masking, edge.run_id, edge.first_at, edge.last_at, edge.current,
       edge.confidence, edge.origin,
       CASE edge.transformation_subtype WHEN 'UNKNOWN' THEN edge.transformation_description END AS unknown, met.depth
FROM met
JOIN edge USING (column_lineage_id)
JOIN catalog.dataset source ON source.dataset_id = edge.source_id
JOIN catalog.dataset target ON target.dataset_id = edge.target_id
LEFT JOIN catalog.process ON process.process_id = edge.process_id
ORDER BY met.depth, target.full_name, edge.target_field, source.full_name, edge.source_field, edge.column_lineage_id
LIMIT %(limit)s
